import assert from "node:assert/strict";
import { test } from "node:test";

import { agentOf, OWNER, plain, scopeOf, sender, userOf } from "../src/people.ts";
import { turnType } from "../src/turns.ts";

test("session keys name the owner, one sender or a group", () => {
  assert.equal(userOf("agent:main:main"), OWNER);
  assert.equal(userOf("agent:main:my-chat"), OWNER);
  assert.equal(userOf("agent:main:direct"), OWNER);
  assert.equal(userOf("agent:main:telegram:direct:42"), "telegram:42");
  assert.equal(userOf("agent:main:openclaw-weixin:bot-im-bot:direct:ann@im.wechat"), "openclaw-weixin:ann@im.wechat");
  assert.equal(userOf("agent:work:whatsapp:group:1203@g.us"), "whatsapp:group:1203@g.us");
  assert.equal(userOf("agent:main:discord:channel:99"), "discord:group:99");
});

test("a sender is the same person whether the session key or the message names them", () => {
  assert.equal(userOf("agent:main:telegram:direct:Ann"), sender("telegram", "ann"));
});

test("a group never has the scope of one of its members", () => {
  const scope = (key: string) => scopeOf({ user: userOf(key), workspace: agentOf(key) }, "default");
  const scopes = ["agent:main:main", "agent:main:x:direct:1", "agent:main:x:group:1", "agent:other:x:direct:1"].map(scope);
  assert.equal(new Set(scopes).size, 4);
  assert.equal(scopes[0], "default");
});

test("ids that can't stand in a header are replaced by their digest", () => {
  assert.match(plain("微信用户"), /^x-[0-9a-f]{32}$/);
  assert.match(plain("a\r\nX-Evil: 1"), /^x-[0-9a-f]{32}$/);
  assert.match(plain("a".repeat(500)), /^x-[0-9a-f]{32}$/);
  assert.notEqual(plain("微信"), plain("微博"));
});

test("only a turn that a person began is main", () => {
  assert.equal(turnType({ runId: "1", sessionKey: "agent:main:main", trigger: "user" }), "main");
  assert.equal(turnType({ runId: "1", sessionKey: "agent:main:main" }), "main");
  for (const trigger of ["heartbeat", "cron", "memory", "overflow"]) assert.equal(turnType({ trigger }), "side");
  const keys = ["agent:main:cron:job:run:1", "agent:main:subagent:1", "agent:main:main:internal-session-effects:x"];
  for (const sessionKey of keys) assert.equal(turnType({ sessionKey, trigger: "user" }), "side");
  for (const runId of ["skill-workshop-review:1", "announce:v1:2"]) assert.equal(turnType({ runId, trigger: "user" }), "side");
  assert.equal(turnType({ trigger: "user", inputProvenance: { kind: "inter_session" } }), "side");
  assert.equal(turnType({ trigger: "user", inputProvenance: { kind: "external_user" } }), "main");
});
