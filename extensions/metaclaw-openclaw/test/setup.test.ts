import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import type { HostConfig, PluginApi } from "../src/host.ts";
import { findProgram, run, runMetaClaw } from "../src/program.ts";
import { settingsFrom } from "../src/settings.ts";
import { pipArguments, setUp } from "../src/setup.ts";
import { giveSlot, takeSlot } from "../src/slot.ts";
import { upstreamOf } from "../src/upstream.ts";

const SKIP = process.platform === "win32" ? { skip: "needs a shell" } : {};

function folder(): string {
  return mkdtempSync(join(tmpdir(), "metaclaw-"));
}

/** A program that writes down its arguments and input, one call a line. */
function program(home: string, code = 0): string {
  const path = join(home, "metaclaw-stand-in");
  writeFileSync(path, `#!/bin/sh\necho "$* <$(cat)>" >>"${home}/calls"\necho "said $1"\nexit ${code}\n`);
  chmodSync(path, 0o755);
  return path;
}

function apiFor(config: HostConfig, keys: Record<string, { apiKey?: string; mode?: string }> = {}): PluginApi {
  const resolveApiKeyForProvider = ({ provider }: { provider: string }) =>
    keys[provider] ? Promise.resolve(keys[provider]) : Promise.reject(new Error("none"));
  return { config, version: "1.2.3", runtime: { modelAuth: { resolveApiKeyForProvider } } } as unknown as PluginApi;
}

function using(primary: string, providers: NonNullable<HostConfig["models"]>["providers"] = {}): HostConfig {
  return { models: { providers }, agents: { defaults: { model: { primary } } } };
}

test("pip gets what was asked for; else the wheel of the package with the tested versions; else this version", () => {
  const root = folder();
  assert.deepEqual(pipArguments(settingsFrom({}), root, "1.2.3").slice(3), ["metaclaw==1.2.3"]);
  mkdirSync(join(root, "wheels"));
  const [wheel, tested] = [join(root, "wheels", "metaclaw-1.2.3-py3-none-any.whl"), join(root, "wheels", "constraints.txt")];
  for (const path of [wheel, tested]) writeFileSync(path, "");
  assert.deepEqual(pipArguments(settingsFrom({}), root, "1.2.3").slice(3), ["--constraint", tested, wheel]);
  const asked = settingsFrom({ pipInstallSpec: "metaclaw[rl]", pipExtraArgs: ["--quiet"] });
  assert.deepEqual(pipArguments(asked, root, "1.2.3").slice(3), ["--quiet", "metaclaw[rl]"]);
  assert.ok(pipArguments(settingsFrom({}), root, "1").every((one) => !one.includes("index")));
});

test("OpenClaw's own model becomes MetaClaw's upstream, its key apart from the arguments", async () => {
  const own = { mine: { baseUrl: "http://127.0.0.1:1/v1", api: "anthropic-messages" } };
  const custom = await upstreamOf(apiFor(using("mine/a/b", own), { mine: { apiKey: "sk-1", mode: "api-key" } }));
  assert.deepEqual(custom?.options, [
    "--provider", "custom", "--api-base", "http://127.0.0.1:1/v1", "--protocol", "messages", "--model", "a/b",
  ]);
  assert.equal(custom.key, "sk-1");
  const written = { mine: { baseUrl: "http://127.0.0.1:1", apiKey: "sk-3" } };
  assert.equal((await upstreamOf(apiFor(using("mine/m", written))))?.key, "sk-3");
  const known = await upstreamOf(apiFor(using("moonshot/k2"), { moonshot: { apiKey: "sk-2" } }));
  assert.deepEqual(known?.options, ["--provider", "kimi", "--model", "k2"]);
});

test("a model that can't be taken over for sure is left alone", async () => {
  assert.equal(await upstreamOf(apiFor({})), undefined);
  assert.equal(await upstreamOf(apiFor(using("metaclaw/m", { metaclaw: { baseUrl: "http://x" } }))), undefined);
  assert.equal(await upstreamOf(apiFor(using("unheard-of/m"), { "unheard-of": { apiKey: "sk" } })), undefined);
  assert.equal(await upstreamOf(apiFor(using("openai/m"))), undefined);
  assert.equal(await upstreamOf(apiFor(using("openai/m"), { openai: { apiKey: "t", mode: "oauth" } })), undefined);
});

test("set-up configures once, with the key on standard input, and starts", SKIP, async () => {
  const home = (process.env["METACLAW_HOME"] = folder());
  const path = program(home);
  const settings = settingsFrom({ metaclawCommand: path, metaclawStartArgs: ["--port", "1"] });
  const config = using("mine/m", { mine: { baseUrl: "http://127.0.0.1:1" }, metaclaw: { baseUrl: "http://127.0.0.1:1" } });
  const api = apiFor(config, { mine: { apiKey: "sk-secret" } });
  const told: string[] = [];
  const everything = { install: true, configure: true, start: true };
  await setUp(api, settings, everything, (line) => told.push(line));
  const calls = (await run("cat", [join(home, "calls")], { timeout: 5000 })).output.split("\n");
  assert.match(calls[0] ?? "", /^setup --yes --no-test --claw openclaw .* --api-key-stdin <sk-secret>$/);
  assert.equal(calls[1], "start --port 1 <>");
  assert.equal(told.at(-1), "MetaClaw runs");
  assert.ok(!told.join().includes("sk-secret"));
  writeFileSync(join(home, "config.yaml"), "");
  await setUp(api, settings, { ...everything, start: false }, (line) => told.push(line));
  assert.match(told.at(-1) ?? "", /stays as it is/);
});

test("a step that fails says what the program said, and the next set-up isn't locked out", SKIP, async () => {
  const home = (process.env["METACLAW_HOME"] = folder());
  const settings = settingsFrom({ metaclawCommand: program(home, 1) });
  const start = () => setUp(apiFor({}), settings, { install: false, configure: false, start: true }, () => undefined);
  await assert.rejects(start(), /MetaClaw did not start: said start/);
  await assert.rejects(start(), /MetaClaw did not start/);
  writeFileSync(join(home, "run", "plugin-setup.lock"), String(process.pid));
  await assert.rejects(start(), /another set-up is running/);
});

test("a program is found by name, in its environment, or on the path; its output is what it printed", SKIP, async () => {
  const home = (process.env["METACLAW_HOME"] = folder());
  const path = program(home);
  assert.equal(findProgram(settingsFrom({ metaclawCommand: path })), path);
  assert.equal(await runMetaClaw(settingsFrom({ metaclawCommand: path }), ["status"]), "said status");
  mkdirSync(join(home, "venv", "bin"), { recursive: true });
  writeFileSync(join(home, "venv", "bin", "metaclaw"), "", { mode: 0o755 });
  assert.equal(findProgram(settingsFrom({})), join(home, "venv", "bin", "metaclaw"));
});

test("the memory slot is never taken from another plugin, nor given back when it isn't ours", async () => {
  const theirs = { plugins: { slots: { memory: "somebody-elses" } } };
  await assert.rejects(takeSlot(theirs, "/nowhere"), /set to somebody-elses, and stays so/);
  assert.equal(await giveSlot(theirs), "the memory slot isn't MetaClaw's");
  assert.equal(await takeSlot({ plugins: { slots: { memory: "metaclaw-memory" } } }, "/nowhere"), "the memory slot is MetaClaw's already");
});
