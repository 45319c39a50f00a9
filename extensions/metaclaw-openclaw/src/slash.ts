/** What people type in a chat: `/remember`, `/recall`, `/memory`, `/skills`, `/metaclaw`. Authorised senders only. */

import type { CommandContext, PluginApi } from "./host.ts";
import { type Memory, openMemory } from "./memory.ts";
import { personOf, scopeOf } from "./people.ts";
import { runMetaClaw } from "./program.ts";
import type { Settings } from "./settings.ts";
import { listed } from "./tools.ts";
import { reason } from "./trouble.ts";

const NO_MEMORY = "There is no memory here: OpenClaw isn't connected to MetaClaw (`metaclaw claws wire openclaw`).";
const LONGEST = 3500;

type Answer = (args: string, context: CommandContext) => Promise<string>;

export function offerCommands(api: PluginApi, settings: Settings): void {
  const memory = openMemory(api.config, settings);
  const scope = (context: CommandContext) => scopeOf(personOf(context), settings.scope);
  const remembering = (work: (memory: Memory, args: string, scope: string) => Promise<string>): Answer => {
    return (args, context) => (memory ? work(memory, args, scope(context)) : Promise.resolve(NO_MEMORY));
  };
  const commands: [name: string, description: string, answer: Answer][] = [
    ["remember", "Remember something: /remember TEXT", remembering(rememberIt)],
    ["recall", "Search your memory: /recall WORDS", remembering(recallIt)],
    ["memory", "How much is remembered", remembering((known, _, whose) => known.status(whose))],
    ["skills", "MetaClaw's skills", () => runMetaClaw(settings, ["skills", "list"])],
    ["metaclaw", "What MetaClaw does now", () => runMetaClaw(settings, ["status"])],
  ];
  for (const [name, description, answer] of commands) {
    api.registerCommand({ name, description, acceptsArgs: true, requireAuth: true, handler: guarded(answer) });
  }
}

/** OpenClaw refuses others by itself; memory is worth a second lock. */
function guarded(answer: Answer): (context: CommandContext) => Promise<{ text: string }> {
  return async (context) => {
    if (!context.isAuthorizedSender) return { text: "You are not allowed to use this command." };
    try {
      return { text: (await answer((context.args ?? "").trim(), context)).slice(0, LONGEST) };
    } catch (error) {
      return { text: reason(error) };
    }
  };
}

async function rememberIt(memory: Memory, args: string, scope: string): Promise<string> {
  if (!args) return "Say what: /remember TEXT";
  return `Remembered (${await memory.store(args, scope)}).`;
}

async function recallIt(memory: Memory, args: string, scope: string): Promise<string> {
  if (!args) return "Say what to look for: /recall WORDS";
  return listed(await memory.search(args, scope, 5)) || "Nothing is remembered about this.";
}
