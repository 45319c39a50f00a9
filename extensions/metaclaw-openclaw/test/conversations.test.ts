import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { Conversations, shared } from "../src/conversations.ts";
import { Names } from "../src/names.ts";
import { settingsFrom } from "../src/settings.ts";

const SETTINGS = settingsFrom({});
const MAIN = "agent:main:main";

function fresh(): Conversations {
  return new Conversations(mkdtempSync(join(tmpdir(), "metaclaw-")));
}

function request(sessionId?: string, attempt = 1) {
  return { provider: "metaclaw", turnId: "t", attempt, ...(sessionId ? { sessionId } : {}) };
}

test("a model call of a person's turn is main and names its session, user and scope", () => {
  const conversations = fresh();
  conversations.calling({ runId: "r1", sessionId: "s1", sessionKey: MAIN });
  assert.deepEqual(conversations.headers(request("s1"), SETTINGS), {
    "X-Metaclaw-Client": "openclaw",
    "X-Turn-Type": "main",
    "X-Session-Id": "s1",
    "X-User-Id": "owner",
    "X-Workspace-Id": "main",
    "X-Memory-Scope": "default",
  });
});

test("a request that no run announced is a side call of its session", () => {
  const headers = fresh().headers(request("s1"), SETTINGS);
  assert.equal(headers["X-Turn-Type"], "side");
  assert.equal(headers["X-Session-Id"], "s1");
  assert.equal(fresh().headers(request(), SETTINGS)["X-Session-Id"], undefined);
});

test("a second attempt at sending keeps what the first one said", () => {
  const conversations = fresh();
  conversations.calling({ runId: "r1", sessionId: "s1", sessionKey: MAIN });
  const first = conversations.headers(request("s1"), SETTINGS);
  assert.deepEqual(conversations.headers(request("s1", 2), SETTINGS), first);
});

test("concurrent runs of different sessions don't take each other's headers", () => {
  const conversations = fresh();
  conversations.calling({ runId: "r1", sessionId: "s1", sessionKey: "agent:main:weixin:direct:ann" });
  conversations.calling({ runId: "r2", sessionId: "s2", sessionKey: "agent:work:main" });
  const two = conversations.headers(request("s2"), SETTINGS);
  const one = conversations.headers(request("s1"), SETTINGS);
  assert.deepEqual([one["X-User-Id"], one["X-Memory-Scope"]], ["weixin:ann", "user:weixin:ann|workspace:main"]);
  assert.deepEqual([two["X-User-Id"], two["X-Memory-Scope"]], ["owner", "user:owner|workspace:work"]);
});

test("a heartbeat is a side call, and the next turn of the same session is main again", () => {
  const conversations = fresh();
  conversations.heartbeat(MAIN);
  conversations.calling({ runId: "beat", sessionId: "s1", sessionKey: MAIN });
  conversations.calling({ runId: "beat", sessionId: "s1", sessionKey: MAIN });
  conversations.calling({ runId: "said", sessionId: "s1", sessionKey: MAIN });
  const types = [1, 2, 3].map(() => conversations.headers(request("s1"), SETTINGS)["X-Turn-Type"]);
  assert.deepEqual(types, ["side", "side", "main"]);
});

test("what an allowed hook knows of a run outranks what was guessed", () => {
  const conversations = fresh();
  conversations.heartbeat(MAIN);
  conversations.prepared({ runId: "r1", sessionId: "s1", sessionKey: MAIN, trigger: "user" });
  conversations.calling({ runId: "r1", sessionId: "s1", sessionKey: MAIN });
  assert.equal(conversations.headers(request("s1"), SETTINGS)["X-Turn-Type"], "main");
});

test("somebody who writes into the owner's session through a channel has a conversation and a memory of their own", () => {
  const conversations = fresh();
  conversations.received(MAIN, "openclaw-weixin", "ann@im.wechat");
  conversations.calling({ runId: "r1", sessionId: "s1", sessionKey: MAIN });
  const hers = conversations.headers(request("s1"), SETTINGS);
  conversations.calling({ runId: "r2", sessionId: "s1", sessionKey: MAIN });
  const own = conversations.headers(request("s1"), SETTINGS);
  assert.equal(hers["X-User-Id"], "openclaw-weixin:ann@im.wechat");
  assert.match(hers["X-Session-Id"] ?? "", /^s1\.u[0-9a-f]{8}$/);
  assert.equal(own["X-User-Id"], "owner");
  assert.equal(own["X-Session-Id"], "s1");
  assert.deepEqual(conversations.namesOf("s1").length, 2);
});

test("a message is one turn's; all calls of that turn are the sender's, and what an allowed hook says outranks it", () => {
  const conversations = fresh();
  conversations.received(MAIN, "weixin", "ann");
  const user = (runId: string, more = {}) => {
    conversations.prepared({ runId, sessionId: "s1", sessionKey: MAIN, trigger: "user", ...more });
    conversations.calling({ runId, sessionId: "s1", sessionKey: MAIN });
    return conversations.headers(request("s1"), SETTINGS)["X-User-Id"];
  };
  assert.deepEqual([user("r1"), user("r1"), user("r2")], ["weixin:ann", "weixin:ann", "owner"]);
  conversations.received(MAIN, "weixin", "ann");
  assert.equal(user("beat", { trigger: "heartbeat" }), "owner");
  assert.equal(user("after"), "weixin:ann");
  assert.equal(user("r3", { channel: "weixin", chatId: "bob" }), "weixin:bob");
  assert.equal(user("r4", { channel: "webchat", chatId: "x" }), "owner");
});

test("a session id that is used again after /new gets another name, which a restart remembers", () => {
  const folder = mkdtempSync(join(tmpdir(), "metaclaw-"));
  const names = new Names(folder);
  names.renew("s1");
  names.renew("s1");
  assert.equal(names.of("s1"), "s1.3");
  assert.equal(new Names(folder).of("s1"), "s1.3");
  const file = join(folder, "metaclaw-openclaw", "conversations.json");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(JSON.parse(readFileSync(file, "utf8")), { s1: "s1.3" });
});

test("a conversation keeps its name when a compaction replaces its session id", () => {
  const { names } = fresh();
  names.follow("s1", "s2");
  names.follow("s2", "s3");
  assert.equal(names.of("s3"), "s1");
});

test("a state folder that can't be written costs nothing but the name after a restart", () => {
  const names = new Names("/dev/null");
  names.renew("s1");
  assert.equal(names.of("s1"), "s1.2");
});

test("all copies of the plugin in a process share one table", () => {
  assert.equal(shared("/a", "1"), shared("/a", "1"));
  assert.notEqual(shared("/a", "1"), shared("/a", "2"));
});

test("what is remembered is bounded", () => {
  const conversations = fresh();
  for (let i = 0; i < 2000; i++) conversations.calling({ runId: `r${i}`, sessionId: `s${i}`, sessionKey: MAIN });
  assert.equal(conversations.run("r0"), undefined);
  assert.ok(conversations.run("r1999"));
});
