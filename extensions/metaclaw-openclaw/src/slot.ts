/** OpenClaw's memory slot: taken only when somebody asks for it, and never from another memory plugin. */

import { join } from "node:path";

import type { HostConfig } from "./host.ts";
import { run } from "./program.ts";

const SLOT_PLUGIN = "metaclaw-memory";
const OPENCLAWS_OWN = "memory-core";
const PATIENCE_MS = 5 * 60_000;

/** Put OpenClaw's file memory out and MetaClaw in its place. Throws an Error with one line. */
export async function takeSlot(config: HostConfig, rootDir: string | undefined): Promise<string> {
  const owner = config.plugins?.slots?.memory ?? OPENCLAWS_OWN;
  if (owner === SLOT_PLUGIN) return "the memory slot is MetaClaw's already";
  if (owner !== OPENCLAWS_OWN) throw new Error(`the memory slot is set to ${owner}, and stays so: plugins.slots.memory`);
  const folder = join(rootDir ?? "", "memory-slot");
  await openclaw(["plugins", "install", folder, "--force", "--accept-capabilities"]);
  return "the memory slot is MetaClaw's; `openclaw metaclaw slot give` gives it back";
}

/** Give the slot back to OpenClaw's own memory. Throws an Error with one line. */
export async function giveSlot(config: HostConfig): Promise<string> {
  if (config.plugins?.slots?.memory !== SLOT_PLUGIN) return "the memory slot isn't MetaClaw's";
  await openclaw(["plugins", "uninstall", SLOT_PLUGIN, "--force"]);
  return "the memory slot is OpenClaw's own again";
}

/** The OpenClaw that runs this command. */
async function openclaw(args: string[]): Promise<void> {
  const done = await run(process.execPath, [process.argv[1] ?? "openclaw", ...args], { timeout: PATIENCE_MS });
  if (done.code !== 0) throw new Error(`openclaw ${args.slice(0, 2).join(" ")} failed: ${done.output.slice(-400)}`);
}
