/** Tells MetaClaw, with each model request, whose conversation it belongs to, and closes conversations that ended. */

import type { Conversations } from "./conversations.ts";
import type { PluginApi } from "./host.ts";
import { openMemory } from "./memory.ts";
import { ask, gatewayOf, isWired, MetaClawError, PROVIDER } from "./metaclaw.ts";
import type { Settings } from "./settings.ts";
import { Trouble } from "./trouble.ts";

const CLOSE_MS = 1500; // OpenClaw gives all session_end handlers two seconds when it stops
const ENDS = new Set(["new", "reset", "idle", "daily", "deleted"]); // a restart or a compaction ends no conversation

export function identify(api: PluginApi, settings: Settings, conversations: Conversations): void {
  api.registerProvider({
    id: PROVIDER,
    label: "MetaClaw",
    auth: [],
    resolveTransportTurnState: (request) => ({ headers: conversations.headers(request, settings) }),
  });
  api.on("message_received", (event, context) => {
    const key = event.sessionKey ?? context.sessionKey ?? "";
    conversations.received(key, context.channelId, event.senderId ?? context.conversationId ?? event.from);
  });
  api.on("heartbeat_prompt_contribution", (event, context) => {
    conversations.heartbeat(event.sessionKey ?? context.sessionKey ?? "");
  });
  api.on("model_call_started", (event, context) => {
    if (event.provider === PROVIDER) conversations.calling({ ...context, ...event });
  });
  api.on("after_compaction", (event, context) => {
    if (event.previousSessionId && context.sessionId) conversations.names.follow(event.previousSessionId, context.sessionId);
  });
  closeWhatEnds(api, settings, conversations);
}

function closeWhatEnds(api: PluginApi, settings: Settings, conversations: Conversations): void {
  const trouble = new Trouble(api.logger, "closing a session");
  const memory = openMemory(api.config, settings);
  api.on("session_end", async (event) => {
    const { sessionId, nextSessionId, reason = "" } = event;
    if (reason === "compaction" && nextSessionId) conversations.names.follow(sessionId, nextSessionId);
    if (!ENDS.has(reason)) return;
    const names = conversations.namesOf(sessionId);
    if (nextSessionId === sessionId) conversations.names.renew(sessionId);
    else conversations.names.forget(sessionId);
    const flushed = conversations.takeCaptured(sessionId).map(([name, scope]) => memory?.flush(name, scope, CLOSE_MS));
    await trouble.openly(() => Promise.all([isWired(api.config) ? close(api, names) : undefined, ...flushed]));
  });
}

async function close(api: PluginApi, names: string[]): Promise<void> {
  for (const name of names) {
    try {
      await ask(gatewayOf(api.config), "POST", `/v1/sessions/${encodeURIComponent(name)}/close`, { timeout: CLOSE_MS });
    } catch (error) {
      if (!(error instanceof MetaClawError && error.status === 404)) throw error; // never talked through MetaClaw
    }
  }
}
