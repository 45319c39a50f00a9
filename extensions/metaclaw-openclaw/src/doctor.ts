/** What works, what is off, and the one command for each. */

import { GRANT, mayReadConversations } from "./access.ts";
import type { HostConfig } from "./host.ts";
import { openMemory } from "./memory.ts";
import { ask, gatewayOf, isInUse, isWired } from "./metaclaw.ts";
import { OWNER, scopeOf } from "./people.ts";
import { findProgram } from "./program.ts";
import type { Settings } from "./settings.ts";
import { reason } from "./trouble.ts";

const LOOK_MS = 3000;

export interface Finding {
  ok: boolean;
  line: string;
}

/** Every check, in the order in which they build on each other. */
export async function examine(config: HostConfig, settings: Settings): Promise<Finding[]> {
  const program = findProgram(settings);
  return [
    program ? good(`MetaClaw's program: ${program}`) : bad("MetaClaw is not installed here: openclaw metaclaw setup"),
    connection(config),
    await gateway(config),
    await memory(config, settings),
    mayReadConversations(config)
      ? good("hooks that see conversations are allowed: turn types are certain, recall and capture work beside MetaClaw")
      : bad(`hooks that see conversations are not allowed: turn types are concluded from other signs, and turns of other providers are neither recalled into nor remembered. To allow: ${GRANT}`),
  ];
}

function connection(config: HostConfig): Finding {
  if (!isWired(config)) return bad("OpenClaw has no provider named metaclaw: metaclaw claws wire openclaw");
  if (!isInUse(config)) return bad("OpenClaw's default model is another provider's: metaclaw claws wire openclaw");
  return good(`OpenClaw's model calls go to ${gatewayOf(config).url}`);
}

async function gateway(config: HostConfig): Promise<Finding> {
  try {
    const health = await ask(gatewayOf(config), "GET", "/healthz", { timeout: LOOK_MS });
    return good(`MetaClaw ${String(health["version"])} answers; its memory is ${health["memory"] === true ? "on" : "off"}`);
  } catch (error) {
    return bad(`${reason(error)}: openclaw metaclaw start`);
  }
}

async function memory(config: HostConfig, settings: Settings): Promise<Finding> {
  const opened = openMemory(config, settings);
  if (!opened) return bad("there is no memory service: connect OpenClaw to MetaClaw, or set sidecarUrl");
  try {
    return good(`memory: ${await opened.status(scopeOf({ user: OWNER, workspace: "main" }, settings.scope))}`);
  } catch (error) {
    return bad(`memory: ${reason(error)}`);
  }
}

function good(line: string): Finding {
  return { ok: true, line };
}

function bad(line: string): Finding {
  return { ok: false, line };
}
