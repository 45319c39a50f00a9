/** Recall before a prompt is built, capture when a turn has ended: only for turns that MetaClaw's gateway doesn't see. */

import type { Conversations, Run } from "./conversations.ts";
import type { HookContext, PluginApi } from "./host.ts";
import { type Memory, openMemory } from "./memory.ts";
import { scopeOf } from "./people.ts";
import type { Settings } from "./settings.ts";
import { lastTurn } from "./transcript.ts";
import { Trouble } from "./trouble.ts";

const RECALL_MS = 1500;
const LONGEST_QUERY = 4000;

export function remember(api: PluginApi, settings: Settings, conversations: Conversations): void {
  const memory = openMemory(api.config, settings);
  const trouble = new Trouble(api.logger, "memory");
  /** The run, if it is a person's and nobody else looks after its memory. */
  const ours = async (context: HookContext): Promise<{ run: Run; memory: Memory } | undefined> => {
    const run = conversations.prepared(context);
    if (!memory || run?.type !== "main") return undefined;
    const elsewhere = await conversations.handshake.gatewayRemembers(api.config, context.modelProviderId);
    return elsewhere ? undefined : { run, memory };
  };
  api.on("before_prompt_build", async (event, context) => {
    const found = await ours(context);
    if (!found || !settings.recall) return undefined;
    const scope = scopeOf(found.run.person, settings.scope);
    const query = event.prompt.slice(-LONGEST_QUERY);
    const appendContext = await trouble.openly(() => found.memory.recalled(query, scope, RECALL_MS));
    return appendContext ? { appendContext } : undefined;
  });
  api.on("agent_end", async (event, context) => {
    const found = await ours(context);
    const said = lastTurn(event.messages);
    if (!found || !said || !settings.capture) return;
    const turn = { prompt_text: said.prompt, response_text: said.answer, turn_id: said.responseId || found.run.id };
    const name = conversations.name(found.run.sessionId, found.run);
    const scope = scopeOf(found.run.person, settings.scope);
    conversations.captured(found.run.sessionId, name, scope);
    await trouble.openly(() => found.memory.buffer(name, turn, scope));
  });
}
