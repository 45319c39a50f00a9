import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";

import { Conversations } from "../src/conversations.ts";
import type { CommandContext, HostConfig, PluginApi, SlashCommand, Tool, ToolContext } from "../src/host.ts";
import { Handshake, Memory } from "../src/memory.ts";
import { settingsFrom } from "../src/settings.ts";
import { offerCommands } from "../src/slash.ts";
import { offerTools } from "../src/tools.ts";
import { lastTurn } from "../src/transcript.ts";

interface Asked {
  path: string;
  body: Record<string, unknown>;
}

/** A memory service that answers the same to everything, and keeps what it was asked. */
async function served(answer: unknown, asked: Asked[] = []): Promise<string> {
  const server = createServer((request: IncomingMessage, response) => {
    let body = "";
    request.on("data", (part: Buffer) => (body += part.toString()));
    request.on("end", () => {
      asked.push({ path: `${request.method} ${request.url}`, body: body ? (JSON.parse(body) as Asked["body"]) : {} });
      response.end(JSON.stringify(answer));
    });
  }).listen(0, "127.0.0.1");
  after(() => server.close());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function wired(url: string): HostConfig {
  return { models: { providers: { metaclaw: { baseUrl: `${url}/v1`, apiKey: "k" } } } };
}

function apiWith(config: HostConfig, taken: Partial<PluginApi>): PluginApi {
  return { config, ...taken } as PluginApi;
}

function conversations(): Conversations {
  return new Conversations(mkdtempSync(join(tmpdir(), "metaclaw-")));
}

test("the gateway remembers turns of its own provider when it has memory, and nothing else", async () => {
  const withMemory = wired(await served({ ok: true, memory: true }));
  const without = wired(await served({ ok: true, memory: false }));
  assert.equal(await new Handshake().gatewayRemembers(withMemory, "metaclaw"), true);
  assert.equal(await new Handshake().gatewayRemembers(withMemory, "openai"), false);
  assert.equal(await new Handshake().gatewayRemembers(without, "metaclaw"), false);
  assert.equal(await new Handshake().gatewayRemembers({}, "metaclaw"), false);
});

test("a gateway that is asked often is asked once, and one that is away is still believed", async () => {
  const asked: Asked[] = [];
  const config = wired(await served({ memory: true }, asked));
  const handshake = new Handshake();
  for (let i = 0; i < 5; i++) await handshake.gatewayHasMemory(config);
  assert.equal(asked.length, 1);
  assert.equal(handshake.saidNo, false);
  assert.equal(await new Handshake().gatewayHasMemory(wired("http://127.0.0.1:1")), false);
});

test("tools ask for the person who speaks, and a group's tools never see a private memory", async () => {
  const asked: Asked[] = [];
  const url = await served({ results: [{ memory_id: "mem_1", content: "two\nlines", valid_from: "2026-11-03T08:00:00Z" }] }, asked);
  let offer: (context: ToolContext) => Tool[] | null = () => null;
  const api = apiWith({}, { registerTool: (factory) => void (offer = factory) });
  offerTools(api, settingsFrom({ sidecarUrl: url }), conversations());
  const search = async (context: ToolContext) => {
    const tool = offer(context)?.find((one) => one.name === "metaclaw_memory_search");
    return tool?.execute("1", { query: "x" });
  };
  const found = await search({ sessionKey: "agent:main:main", agentId: "main" });
  assert.equal(found?.content[0]?.text, "- [2026-11-03] two lines (mem_1)");
  await search({ sessionKey: "agent:main:main", agentId: "main", messageChannel: "weixin", requesterSenderId: "Ann" });
  await search({ sessionKey: "agent:main:weixin:group:g1", agentId: "main", requesterSenderId: "Ann" });
  const scopes = asked.map((one) => one.body["scope_id"]);
  assert.deepEqual(scopes, ["default", "user:weixin:ann|workspace:main", "user:weixin:group:g1|workspace:main"]);
  await assert.rejects(async () => offer({})?.[1]?.execute("1", {}), /content must be a text/);
});

test("without a memory service no tools are offered, nor when the gateway said that it has none", async () => {
  let offered = 0;
  let offer: (context: ToolContext) => Tool[] | null = () => [];
  const api = (config: HostConfig) => apiWith(config, { registerTool: (factory) => void (offered++, (offer = factory)) });
  offerTools(api({}), settingsFrom({}), conversations());
  assert.equal(offered, 0);
  const config = wired(await served({ memory: false }));
  const known = conversations();
  offerTools(api(config), settingsFrom({}), known);
  assert.equal(offer({})?.length, 4);
  await known.handshake.gatewayHasMemory(config);
  assert.equal(offer({}), null);
});

test("slash commands are for authorised senders, say what is missing, and never throw", async () => {
  const asked: Asked[] = [];
  const commands = new Map<string, SlashCommand>();
  const api = apiWith({}, { registerCommand: (command) => void commands.set(command.name, command) });
  offerCommands(api, settingsFrom({ sidecarUrl: await served({ memory_id: "mem_1" }, asked) }));
  assert.deepEqual([...commands.keys()], ["remember", "recall", "memory", "skills", "metaclaw"]);
  const type = async (name: string, context: Partial<CommandContext>) => {
    const answer = await commands.get(name)?.handler({ channel: "webchat", isAuthorizedSender: true, ...context });
    return answer?.text;
  };
  assert.equal(await type("remember", { args: "tea", isAuthorizedSender: false }), "You are not allowed to use this command.");
  assert.equal(asked.length, 0);
  assert.equal(await type("remember", { args: " " }), "Say what: /remember TEXT");
  assert.equal(await type("remember", { args: "tea" }), "Remembered (mem_1).");
  offerCommands(api, settingsFrom({ sidecarUrl: "http://127.0.0.1:1" }));
  assert.match((await type("recall", { args: "tea" })) ?? "", /out of reach \(ECONNREFUSED\)/);
});

test("a memory is asked in its own words", async () => {
  const asked: Asked[] = [];
  const memory = new Memory({ url: await served({ rendered_prompt: "<x>", active: 2, turns: { buffered: 1, extracted: 2 } }, asked), key: "" });
  assert.equal(await memory.recalled("hello", "s", 1000), "<x>");
  assert.equal(await memory.status("a b"), "2 memories, 3 turns of conversation");
  await memory.wipe("user:a|workspace:b");
  const paths = asked.map((one) => one.path);
  assert.deepEqual(paths, ["POST /retrieve", "GET /stats?scope_id=a%20b", "DELETE /scopes/user%3Aa%7Cworkspace%3Ab"]);
});

test("the last turn is what the person said last and everything answered to it", () => {
  const messages = [
    { role: "user", content: "before" },
    { role: "assistant", content: "x" },
    { role: "user", content: [{ type: "text", text: "which files" }, { type: "image" }] },
    { role: "assistant", content: [{ type: "text", text: "I look." }, { type: "toolCall" }], stopReason: "toolUse" },
    { role: "toolResult", content: "a" },
    { role: "assistant", content: [{ type: "text", text: "Two." }], stopReason: "stop", responseId: "r9" },
  ];
  assert.deepEqual(lastTurn(messages), { prompt: "which files", answer: "I look.\n\nTwo.", responseId: "r9" });
});

test("a turn that the provider failed is no turn, whatever OpenClaw calls it", () => {
  const said = { role: "user", content: "hello" };
  assert.equal(lastTurn([said, { role: "assistant", content: "half", stopReason: "error" }]), undefined);
  assert.equal(lastTurn([said, { role: "assistant", content: [], stopReason: "stop" }]), undefined);
  assert.equal(lastTurn([{ role: "assistant", content: "x" }, said]), undefined);
  assert.equal(lastTurn([]), undefined);
});
