/** The tools by which the agent itself looks into memory. */

import type { Conversations } from "./conversations.ts";
import type { PluginApi, Tool, ToolContext, ToolResult } from "./host.ts";
import { type Found, type Memory, openMemory } from "./memory.ts";
import { personOf, scopeOf } from "./people.ts";
import type { Settings } from "./settings.ts";

const TYPES = ["episodic", "semantic", "preference", "project_state", "working_summary", "procedural_observation"];
const NAMES = ["search", "store", "forget", "status"].map((verb) => `metaclaw_memory_${verb}`);
const MOST_FOUND = 10;

/** Offered where there is a memory service, and not where the gateway has just said that it has none. */
export function offerTools(api: PluginApi, settings: Settings, conversations: Conversations): void {
  const memory = openMemory(api.config, settings);
  if (!memory) return;
  const factory = (context: ToolContext): Tool[] | null => {
    if (!settings.sidecarUrl && conversations.handshake.saidNo) return null;
    const { messageChannel, requesterSenderId, ...session } = context;
    const spoken = { ...session, channel: messageChannel ?? "", senderId: requesterSenderId ?? "" };
    const scope = scopeOf(personOf(spoken), settings.scope);
    return [search(memory, scope), store(memory, scope), forget(memory, scope), status(memory, scope)];
  };
  api.registerTool(factory, { names: NAMES });
}

/** Memories as a list for people and models. */
export function listed(found: readonly Found[]): string {
  return found.map((one) => `- [${one.at}] ${one.content.replace(/\s+/g, " ")} (${one.id})`).join("\n");
}

function search(memory: Memory, scope: string): Tool {
  return {
    name: "metaclaw_memory_search",
    label: "Search memory",
    description: "Search what is remembered from earlier conversations. Results are dated; the newest counts.",
    parameters: {
      type: "object",
      properties: {
        query: { type: "string", description: "What to look for, in words." },
        limit: { type: "integer", minimum: 1, maximum: 50, description: `At most this many (${MOST_FOUND}).` },
      },
      required: ["query"],
    },
    execute: async (_, given, signal) => {
      const limit = typeof given["limit"] === "number" ? given["limit"] : MOST_FOUND;
      const found = await memory.search(textIn(given, "query"), scope, limit, signal);
      return result(listed(found) || "Nothing is remembered about this.", { results: found });
    },
  };
}

function store(memory: Memory, scope: string): Tool {
  return {
    name: "metaclaw_memory_store",
    label: "Remember",
    description: "Remember one fact for later conversations: a statement that stands on its own, with names and dates.",
    parameters: {
      type: "object",
      properties: {
        content: { type: "string", description: "The fact, as a whole sentence." },
        memory_type: { type: "string", enum: TYPES, description: "Its kind (semantic)." },
        tags: { type: "array", items: { type: "string" } },
        importance: { type: "number", minimum: 0, maximum: 1 },
      },
      required: ["content"],
    },
    execute: async (_, given) => {
      const { memory_type, tags, importance } = given;
      const more = Object.fromEntries(Object.entries({ memory_type, tags, importance }).filter(([, one]) => one != null));
      const id = await memory.store(textIn(given, "content"), scope, more);
      return result(`Remembered as ${id}.`, { memory_id: id });
    },
  };
}

function forget(memory: Memory, scope: string): Tool {
  return {
    name: "metaclaw_memory_forget",
    label: "Forget",
    description: "Forget one memory for good, with the words it came from. Only when the person asks for it.",
    parameters: {
      type: "object",
      properties: { memory_id: { type: "string", description: "Its id, as the search shows it." } },
      required: ["memory_id"],
    },
    execute: async (_, given) => {
      await memory.forget(textIn(given, "memory_id"), scope);
      return result("Forgotten.", { ok: true });
    },
  };
}

function status(memory: Memory, scope: string): Tool {
  return {
    name: "metaclaw_memory_status",
    label: "Memory status",
    description: "How much is remembered.",
    parameters: { type: "object", properties: {} },
    execute: async () => {
      const line = await memory.status(scope);
      return result(line, { status: line });
    },
  };
}

function textIn(given: Record<string, unknown>, name: string): string {
  const value = given[name];
  if (typeof value !== "string" || !value.trim()) throw new Error(`${name} must be a text`);
  return value;
}

function result(text: string, details: unknown): ToolResult {
  return { content: [{ type: "text", text }], details };
}
