/** Which conversation, whose, and what kind of turn a model request belongs to. */

import { createHash } from "node:crypto";

import type { HookContext, TransportContext } from "./host.ts";
import { Handshake } from "./memory.ts";
import { Names } from "./names.ts";
import { isOwnChannel, OWNER, type Person, personOf, scopeOf, sender, userOf } from "./people.ts";
import type { Settings } from "./settings.ts";
import { turnType, type TurnType } from "./turns.ts";

const MOST = 500;
const TAKEN_UP_MS = 10 * 60_000; // a message waits for the runs before it

interface Written {
  user: string;
  at: number;
}

/** One run of the agent: a turn with all its model calls. */
export interface Run {
  id: string;
  type: TurnType;
  sessionKey: string;
  sessionId: string;
  person: Person;
}

/**
 * What was learned from hooks, by run and session. OpenClaw loads this plugin more than once in its gateway, and calls
 * the hooks of one copy and the provider of another; so there is one table a process, reached by `shared`.
 */
export class Conversations {
  readonly names: Names;
  readonly handshake = new Handshake();
  readonly #runs = new Map<string, Run>();
  readonly #started = new Map<string, Run[]>(); // session id → runs that announced a model call not yet sent
  readonly #last = new Map<string, Run | undefined>(); // session id → the run whose call was sent last
  readonly #senders = new Map<string, Written>(); // session key → who wrote what no run has taken up yet
  readonly #captured = new Map<string, Map<string, string>>(); // session id → names handed to memory, and their scopes
  readonly #heartbeats = new Set<string>(); // session keys in which a heartbeat has just begun

  constructor(stateDir: string) {
    this.names = new Names(stateDir);
  }

  /**
   * Somebody wrote through a channel. OpenClaw doesn't say which run takes it up; the next one of that session does. In
   * doubt it is the sender's: his words must not get into the owner's memory, nor the owner's memory to him.
   */
  received(sessionKey: string, channel: string, senderId: string): void {
    if (!sessionKey || isOwnChannel(channel) || !senderId) return;
    remember(this.#senders, sessionKey, { user: sender(channel, senderId), at: performance.now() });
  }

  /** A heartbeat is being prepared; the next new run of that session is it. */
  heartbeat(sessionKey: string): void {
    this.#heartbeats.add(sessionKey);
  }

  /** A run is being prepared; this hook knows most, but has to be allowed by the owner of the machine. */
  prepared(context: HookContext): Run | undefined {
    return context.runId ? this.#learn(context.runId, context, true) : undefined;
  }

  /** A model call is about to be sent for a run. */
  calling(context: HookContext): void {
    const { runId, sessionId } = context;
    if (!runId || !sessionId) return;
    const run = this.#learn(runId, context, false);
    remember(this.#started, sessionId, [...(this.#started.get(sessionId) ?? []), run].slice(-8));
  }

  /** A turn of this conversation was handed to memory by us. */
  captured(sessionId: string, name: string, scope: string): void {
    remember(this.#captured, sessionId, new Map([...(this.#captured.get(sessionId) ?? []), [name, scope]]));
  }

  /** The conversations of a session that were handed to memory by us; asked once, when it ends. */
  takeCaptured(sessionId: string): [name: string, scope: string][] {
    const taken = [...(this.#captured.get(sessionId) ?? [])];
    this.#captured.delete(sessionId);
    return taken;
  }

  /** What is known of a run. */
  run(runId: string): Run | undefined {
    return this.#runs.get(runId);
  }

  /** The headers of one model request. A request that no run announced is a chore: compaction, titles, recaps. */
  headers(request: TransportContext, settings: Settings): Record<string, string> {
    const sessionId = request.sessionId ?? "";
    const waiting = this.#started.get(sessionId) ?? [];
    const run = waiting.shift() ?? (request.attempt > 1 ? this.#last.get(sessionId) : undefined);
    if (sessionId) remember(this.#last, sessionId, run);
    const headers: Record<string, string> = { "X-Metaclaw-Client": "openclaw" };
    headers[settings.turnTypeHeader] = run?.type ?? "side";
    if (sessionId) headers[settings.sessionIdHeader] = this.name(sessionId, run);
    if (!run) return headers;
    headers["X-User-Id"] = run.person.user;
    headers["X-Workspace-Id"] = run.person.workspace;
    headers["X-Memory-Scope"] = scopeOf(run.person, settings.scope);
    return headers;
  }

  /** What MetaClaw calls a run's conversation: the session's own name, and one beside it for each further person. */
  name(sessionId: string, run?: Run): string {
    const name = this.names.of(sessionId);
    if (!run || run.person.user === userOf(run.sessionKey)) return name;
    return `${name}.u${createHash("sha256").update(run.person.user).digest("hex").slice(0, 8)}`;
  }

  /** The names under which MetaClaw may know a session. */
  namesOf(sessionId: string): string[] {
    const runs = [...this.#runs.values()].filter((run) => run.sessionId === sessionId);
    return [...new Set([this.names.of(sessionId), ...runs.map((run) => this.name(sessionId, run))])];
  }

  #learn(runId: string, context: HookContext, sure: boolean): Run {
    const known = this.#runs.get(runId);
    if (known && !sure) return known;
    const sessionKey = context.sessionKey ?? known?.sessionKey ?? "";
    const beating = this.#heartbeats.delete(sessionKey);
    const side = !context.trigger && (beating || known?.type === "side");
    const type = side ? "side" : turnType({ ...context, runId });
    const sessionId = context.sessionId ?? known?.sessionId ?? "";
    const person = this.#person(sessionKey, context, known, type);
    const run: Run = { id: runId, type, sessionKey, sessionId, person };
    remember(this.#runs, runId, run);
    return run;
  }

  #person(sessionKey: string, context: HookContext, known: Run | undefined, type: TurnType): Person {
    const channel = context.channel ?? context.messageProvider ?? "";
    const person = personOf({ ...context, sessionKey, channel, senderId: context.senderId ?? context.chatId ?? "" });
    if (person.user !== OWNER) return person;
    if (known) return { ...person, user: known.person.user };
    if (type === "side") return person;
    const wrote = this.#senders.get(sessionKey);
    this.#senders.delete(sessionKey);
    return wrote && performance.now() - wrote.at < TAKEN_UP_MS ? { ...person, user: wrote.user } : person;
  }
}

/** The table of this process, for all copies of this version of the plugin. */
export function shared(stateDir: string, version: string): Conversations {
  const key = Symbol.for(`metaclaw-openclaw:${version}:${stateDir}`);
  const registry = globalThis as unknown as Record<symbol, Conversations | undefined>;
  return (registry[key] ??= new Conversations(stateDir));
}

function remember<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key);
  map.set(key, value);
  for (const oldest of map.keys()) {
    if (map.size <= MOST) break;
    map.delete(oldest);
  }
}
