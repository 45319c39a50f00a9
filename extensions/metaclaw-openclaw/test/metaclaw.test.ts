import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import type { Logger } from "../src/host.ts";
import { ask, gatewayOf, isWired, MetaClawError } from "../src/metaclaw.ts";
import { DEFAULTS, settingsFrom } from "../src/settings.ts";
import { Trouble } from "../src/trouble.ts";

process.env["METACLAW_HOME"] = mkdtempSync(join(tmpdir(), "metaclaw-"));

async function served(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, "127.0.0.1");
  after(() => server.close());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("an answer is JSON, and the key and the body arrive", async () => {
  const url = await served((request, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => response.end(JSON.stringify({ body, key: request.headers["x-metaclaw-key"] })));
  });
  const answer = await ask({ url, key: "sk-1" }, "POST", "/x", { body: { a: "ä" }, timeout: 5000 });
  assert.deepEqual(answer, { body: '{"a":"ä"}', key: "sk-1" });
});

test("the run token is shown to the process that wrote it, and to nobody else", async () => {
  const url = await served((request, response) => response.end(JSON.stringify({ token: request.headers["x-metaclaw-token"] ?? "" })));
  const run = join(process.env["METACLAW_HOME"] ?? "", "run");
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, "gateway.json"), JSON.stringify({ port: Number(new URL(url).port), token: "t-1" }));
  assert.deepEqual(await ask({ url, key: "" }, "GET", "/", { timeout: 5000 }), { token: "t-1" });
  const other = await served((request, response) => response.end(JSON.stringify({ token: request.headers["x-metaclaw-token"] ?? "" })));
  assert.deepEqual(await ask({ url: other, key: "" }, "GET", "/", { timeout: 5000 }), { token: "" });
});

test("a refusal says its reason and status; silence says how long it lasted; a closed port that it is closed", async () => {
  const refusing = await served((_, response) => {
    response.statusCode = 403;
    response.end('{"error":{"message":"no key"}}');
  });
  await assert.rejects(ask({ url: refusing, key: "" }, "GET", "/x", { timeout: 5000 }), (error: MetaClawError) => {
    assert.equal(error.status, 403);
    assert.match(error.message, /\/x answered 403: no key/);
    return true;
  });
  const silent = await served(() => undefined);
  await assert.rejects(ask({ url: silent, key: "" }, "GET", "/", { timeout: 30 }), /no answer in 30 ms/);
  await assert.rejects(ask({ url: "http://127.0.0.1:1", key: "" }, "GET", "/", { timeout: 5000 }), /ECONNREFUSED/);
});

test("the gateway is where OpenClaw's configuration has it", () => {
  const config = { models: { providers: { metaclaw: { baseUrl: "http://127.0.0.1:4/v1/", apiKey: "k" } } } };
  assert.ok(isWired(config) && !isWired({}));
  assert.deepEqual(gatewayOf(config), { url: "http://127.0.0.1:4", key: "k" });
});

test("trouble is told once, and once when it is over", async () => {
  const told: string[] = [];
  const say = (line: string) => void told.push(line);
  const logger: Logger = { info: say, warn: say, error: say };
  const trouble = new Trouble(logger, "memory");
  const fail = () => Promise.reject(new Error("no\nconnection"));
  for (const work of [fail, fail, () => Promise.resolve(1), () => Promise.resolve(2), fail]) await trouble.openly<number>(work);
  assert.deepEqual(told.map((line) => line.split(";")[0]), [
    "MetaClaw: memory failed",
    "MetaClaw: memory works again",
    "MetaClaw: memory failed",
  ]);
  assert.ok(told[0]?.endsWith("no connection"));
});

test("one click means install, configuration and start", () => {
  const all = settingsFrom({ ...DEFAULTS, oneClickMetaclaw: true });
  assert.ok(all.autoInstallMetaclaw && all.bootstrapMetaclawConfig && all.autoStartMetaclaw);
  assert.deepEqual(settingsFrom(undefined), DEFAULTS);
});

test("the manifest knows every setting that the code knows, with the same defaults", () => {
  const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "..", "openclaw.plugin.json"), "utf8")) as {
    version: string;
    configSchema: { properties: Record<string, { default: unknown }> };
    uiHints: Record<string, unknown>;
  };
  const { properties } = manifest.configSchema;
  assert.deepEqual(Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, one.default])), DEFAULTS);
  assert.deepEqual(Object.keys(manifest.uiHints).sort(), Object.keys(properties).sort());
  const described = JSON.parse(readFileSync(join(import.meta.dirname, "..", "package.json"), "utf8")) as { version: string };
  assert.equal(manifest.version, described.version);
});
