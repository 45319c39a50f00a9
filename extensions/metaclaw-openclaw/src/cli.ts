/** `openclaw metaclaw …` */

import { examine } from "./doctor.ts";
import type { CliCommand, HostConfig, PluginApi } from "./host.ts";
import { type Memory, openMemory } from "./memory.ts";
import { OWNER, scopeOf } from "./people.ts";
import { runMetaClaw } from "./program.ts";
import type { Settings } from "./settings.ts";
import { setUp } from "./setup.ts";
import { giveSlot, takeSlot } from "./slot.ts";
import { listed } from "./tools.ts";
import { reason } from "./trouble.ts";

const NAME = "metaclaw";
const DESCRIPTION = "MetaClaw: state, set-up, memory";

export function offerCli(api: PluginApi, settings: Settings): void {
  const descriptors = [{ name: NAME, description: DESCRIPTION, hasSubcommands: true }];
  api.registerCli(({ program, config }) => build(program, api, config, settings), { commands: [NAME], descriptors });
}

function build(program: CliCommand, api: PluginApi, config: HostConfig, settings: Settings): void {
  const root = program.command(NAME).description(DESCRIPTION);
  const own = scopeOf({ user: OWNER, workspace: "main" }, settings.scope);
  for (const verb of ["status", "start", "stop"]) {
    const action = told(async () => say(await runMetaClaw(settings, [verb])));
    root.command(verb).description(`Run \`metaclaw ${verb}\``).action(action);
  }
  root
    .command("setup")
    .description("Install MetaClaw, write a configuration from OpenClaw's model, start it; each step where it is due")
    .action(told(() => setUp(api, settings, { install: true, configure: true, start: true }, say)));
  root
    .command("doctor")
    .description("What works, what is off, and what to do")
    .action(told(() => tellFindings(config, settings)));
  root
    .command("search <query>")
    .description("Search memory")
    .option("--limit <n>", "at most this many", "10")
    .option("--scope <scope>", "whose memory", own)
    .action(told((query, options) => search(open(config, settings), String(query), optionsIn(options))));
  root
    .command("slot <verb>")
    .description("OpenClaw's memory slot: `take` it for MetaClaw, or `give` it back")
    .action(told((verb) => slot(String(verb), config, api.rootDir)));
  root
    .command("wipe")
    .description("Forget everything of one scope, for good")
    .option("--scope <scope>", "whose memory", own)
    .option("--yes", "do it")
    .action(told((options) => wipe(open(config, settings), optionsIn(options))));
}

async function tellFindings(config: HostConfig, settings: Settings): Promise<void> {
  const findings = await examine(config, settings);
  for (const { ok, line } of findings) say(`${ok ? "ok " : "off"}  ${line}`);
  if (findings.some((one) => !one.ok)) process.exitCode = 1;
}

async function slot(verb: string, config: HostConfig, rootDir: string | undefined): Promise<void> {
  if (verb === "take") say(await takeSlot(config, rootDir));
  else if (verb === "give") say(await giveSlot(config));
  else throw new Error(`slot ${verb}: say take or give`);
}

async function search(memory: Memory, query: string, options: Options): Promise<void> {
  const limit = Math.min(50, Math.max(1, Number(options.limit) || 10));
  say(listed(await memory.search(query, options.scope, limit)) || "nothing is remembered about this");
}

async function wipe(memory: Memory, options: Options): Promise<void> {
  if (!options.yes) throw new Error(`this forgets everything in the scope ${options.scope}, for good: add --yes to do it`);
  await memory.wipe(options.scope);
  say(`forgotten: everything in the scope ${options.scope}`);
}

interface Options {
  limit: string;
  scope: string;
  yes: boolean;
}

function optionsIn(given: unknown): Options {
  const { limit, scope, yes } = given as Partial<Options>;
  return { limit: limit ?? "", scope: scope ?? "", yes: yes === true };
}

function open(config: HostConfig, settings: Settings): Memory {
  const memory = openMemory(config, settings);
  if (!memory) throw new Error("there is no memory service: connect OpenClaw to MetaClaw, or set sidecarUrl");
  return memory;
}

/** An action whose failure is one line and exit code 1. */
function told(work: (...given: unknown[]) => Promise<void>): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    try {
      await work(...given);
    } catch (error) {
      process.stderr.write(`${reason(error)}\n`);
      process.exitCode = 1;
    }
  };
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
