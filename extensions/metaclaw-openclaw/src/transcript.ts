/** Reads a turn out of OpenClaw's transcript. */

interface Message {
  role?: unknown;
  content?: unknown;
  stopReason?: unknown;
  responseId?: unknown;
}

export interface Said {
  prompt: string;
  answer: string;
  responseId: string;
}

const INTERNAL = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>";

/**
 * The last turn: what the person said and what was answered. Nothing when the provider failed, which OpenClaw reports
 * as success: then the last answer's stop reason says it.
 */
export function lastTurn(messages: readonly unknown[]): Said | undefined {
  const all = messages as readonly Message[];
  const last = all.findLast((message) => message.role === "assistant");
  if (!last || last.stopReason === "error" || last.stopReason === "aborted") return undefined;
  const at = all.findLastIndex((message) => message.role === "user" && spoken(message) !== "");
  const person = all[at];
  if (!person || all.indexOf(last) < at) return undefined;
  const answers = all.slice(at).filter((message) => message.role === "assistant");
  const answer = answers.map(spoken).filter(Boolean).join("\n\n");
  if (!answer) return undefined;
  return { prompt: spoken(person), answer, responseId: typeof last.responseId === "string" ? last.responseId : "" };
}

function spoken(message: Message): string {
  if (typeof message.content === "string") return own(message.content);
  const parts: unknown[] = Array.isArray(message.content) ? message.content : [];
  return parts.map((part) => own(textOf(part))).filter(Boolean).join("\n");
}

function textOf(part: unknown): string {
  const { type, text } = part as { type?: unknown; text?: unknown };
  return type === "text" && typeof text === "string" ? text : "";
}

function own(text: string): string {
  return text.trimStart().startsWith(INTERNAL) ? "" : text.trim();
}
