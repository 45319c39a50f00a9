/** OpenClaw's own plugin API must be able to stand in for what this plugin declares of it; the compiler says if not. */

import type { OpenClawPluginApi } from "openclaw/plugin-sdk/plugin-entry";

import type { Hooks, PluginApi } from "../src/host.ts";

type Given = Omit<PluginApi, "on">;

export const api = (real: OpenClawPluginApi): Given => real;

/** Every hook in use exists, and takes our handlers. */
export function hooks(real: OpenClawPluginApi, ours: Hooks): void {
  real.on("session_end", ours.session_end);
  real.on("after_compaction", ours.after_compaction);
  real.on("message_received", ours.message_received);
  real.on("heartbeat_prompt_contribution", ours.heartbeat_prompt_contribution);
  real.on("model_call_started", ours.model_call_started);
  real.on("before_prompt_build", ours.before_prompt_build);
  real.on("agent_end", ours.agent_end);
}
