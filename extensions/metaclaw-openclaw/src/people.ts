/** Who speaks in a conversation, and whose memory is meant. */

import { createHash } from "node:crypto";

/** The person at this machine: the terminal, the control page, anything that came through no channel. */
export const OWNER = "owner";

const PLAIN = /^[\w.@:+=-]{1,96}$/;
const DIRECT = new Set(["direct", "dm"]);
const NO_CHANNEL = new Set(["", "webchat", "cli", "internal", "gateway", "unknown"]);
const SHARED = new Set(["group", "channel", "room"]);

export interface Person {
  user: string;
  workspace: string;
}

/** The agent that a session key belongs to: `agent:<id>:…`. */
export function agentOf(sessionKey: string): string {
  const [kind, id] = sessionKey.split(":");
  return kind === "agent" && id ? id : "main";
}

/**
 * Whose conversation a session key names: a group's, one sender's, or the owner's. A group is a user of its own, so
 * that what somebody said in private is never recalled there.
 */
export function userOf(sessionKey: string): string {
  const parts = sessionKey.split(":").slice(2);
  const at = parts.findIndex((part, index) => index > 0 && (SHARED.has(part) || DIRECT.has(part)));
  const channel = parts[0];
  const who = parts.slice(at + 1).join(":");
  if (at < 0 || !channel || !who) return OWNER;
  return SHARED.has(parts[at] ?? "") ? plain(`${channel}:group:${who}`) : plain(`${channel}:${who}`);
}

/** What hooks, tools and commands are told of who speaks. */
export interface Spoken {
  sessionKey?: string;
  agentId?: string;
  channel?: string;
  senderId?: string;
}

/** Whoever speaks: as the session key says, else the sender on a channel, else the owner. */
export function personOf(spoken: Spoken): Person {
  const sessionKey = spoken.sessionKey ?? "";
  const own = userOf(sessionKey);
  const known = spoken.senderId && !NO_CHANNEL.has(spoken.channel ?? "");
  const user = own === OWNER && known ? sender(spoken.channel ?? "", spoken.senderId ?? "") : own;
  return { user, workspace: spoken.agentId ?? agentOf(sessionKey) };
}

/** Does nobody but the owner speak through this? */
export function isOwnChannel(channel: string): boolean {
  return NO_CHANNEL.has(channel);
}

/** A user of a channel. */
export function sender(channel: string, id: string): string {
  return plain(`${channel}:${id}`);
}

/** Whose memory: the owner's own scope for the main agent, else one of this user and agent. The gateway's own rule. */
export function scopeOf(person: Person, ownScope: string): string {
  if (person.user === OWNER && person.workspace === "main" && ownScope) return ownScope;
  return `user:${person.user}|workspace:${person.workspace}`;
}

/** An id as it can stand in a header, in small letters as OpenClaw writes it in session keys; else its digest. */
export function plain(id: string): string {
  const known = id.toLowerCase();
  return PLAIN.test(known) ? known : `x-${createHash("sha256").update(known).digest("hex").slice(0, 32)}`;
}
