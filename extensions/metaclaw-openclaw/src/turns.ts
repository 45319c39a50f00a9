/** Main turn or side call: is a person being answered, or does OpenClaw work for itself? */

import type { HookContext } from "./host.ts";

export type TurnType = "main" | "side";

const OWN_SESSIONS = /:(cron|subagent|internal-session-effects|heartbeat)(:|$)/;
const OWN_RUNS = /^(skill-workshop-review|announce):/;

/**
 * The kind of a run, from what a hook was told of it. `trigger` alone proves little: OpenClaw's skill review, its
 * subagents and their announcements say `user` too.
 */
export function turnType(run: HookContext): TurnType {
  if (run.trigger && run.trigger !== "user") return "side";
  if (OWN_SESSIONS.test(run.sessionKey ?? "") || OWN_RUNS.test(run.runId ?? "")) return "side";
  const provenance = run.inputProvenance?.kind;
  return provenance === "internal_system" || provenance === "inter_session" ? "side" : "main";
}
