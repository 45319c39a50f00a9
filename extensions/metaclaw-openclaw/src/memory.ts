/** The memory service, for one person at a time. */

import type { HostConfig } from "./host.ts";
import { ask, gatewayOf, isWired, memoryOf, MetaClawError, type Place, PROVIDER } from "./metaclaw.ts";
import type { Settings } from "./settings.ts";

const LOOK_MS = 1000;
const BELIEVED_MS = 20_000;
const PATIENCE_MS = 20_000;

export interface Found {
  id: string;
  content: string;
  type: string;
  at: string;
}

export interface Turn {
  prompt_text: string;
  response_text: string;
  turn_id: string;
}

export class Memory {
  readonly #place: Place;

  constructor(place: Place) {
    this.#place = place;
  }

  /** What is worth saying in a turn, ready to be put in; empty when nothing is. `timeout` is in milliseconds. */
  async recalled(text: string, scope: string, timeout: number): Promise<string> {
    const body = { task_description: text, scope_id: scope };
    const answer = await ask(this.#place, "POST", "/retrieve", { body, timeout });
    return typeof answer["rendered_prompt"] === "string" ? answer["rendered_prompt"] : "";
  }

  async buffer(session: string, turn: Turn, scope: string): Promise<void> {
    const body = { session_id: session, turn, scope_id: scope };
    await ask(this.#place, "POST", "/buffer_turn", { body, timeout: PATIENCE_MS });
  }

  /** The session has ended; nobody waits for what is drawn from it. */
  async flush(session: string, scope: string, timeout: number): Promise<void> {
    const body = { session_id: session, scope_id: scope, final: true, wait: 0 };
    await ask(this.#place, "POST", "/flush_session", { body, timeout });
  }

  async search(query: string, scope: string, limit: number, signal?: AbortSignal): Promise<Found[]> {
    const body = { query, scope_id: scope, limit };
    const answer = await ask(this.#place, "POST", "/search", { body, timeout: PATIENCE_MS, signal });
    const results: unknown[] = Array.isArray(answer["results"]) ? answer["results"] : [];
    return results.map(found);
  }

  async store(content: string, scope: string, more: Record<string, unknown> = {}): Promise<string> {
    const body = { ...more, content, scope_id: scope };
    return text((await ask(this.#place, "POST", "/store", { body, timeout: PATIENCE_MS }))["memory_id"]);
  }

  async forget(id: string, scope: string): Promise<void> {
    await ask(this.#place, "POST", "/forget", { body: { memory_id: id, scope_id: scope }, timeout: PATIENCE_MS });
  }

  /** How much is known, in one line. */
  async status(scope: string): Promise<string> {
    const path = `/stats?scope_id=${encodeURIComponent(scope)}`;
    const counts = await ask(this.#place, "GET", path, { timeout: PATIENCE_MS });
    const turns = Object.values((counts["turns"] ?? {}) as Record<string, number>).reduce((sum, one) => sum + one, 0);
    return `${text(counts["active"])} memories, ${turns} turns of conversation`;
  }

  /** Everything of a scope, gone. */
  async wipe(scope: string): Promise<void> {
    await ask(this.#place, "DELETE", `/scopes/${encodeURIComponent(scope)}`, { timeout: PATIENCE_MS });
  }
}

/** Memory as the configuration names it; undefined where there is none. */
export function openMemory(config: HostConfig, settings: Settings): Memory | undefined {
  const place = memoryOf(config, settings);
  return place && new Memory(place);
}

/**
 * Who remembers a turn: the gateway, when it is in the path and has memory; else this plugin. One question decides,
 * and its answer is believed for a while, so that nothing is ever recalled or handed in twice.
 */
export class Handshake {
  #remembers = false;
  #askedAt = -Infinity;

  /** Has the gateway said that it has no memory? */
  get saidNo(): boolean {
    return this.#askedAt > -Infinity && !this.#remembers;
  }

  /** Does the gateway recall into, and learn from, the turns of this model provider? */
  async gatewayRemembers(config: HostConfig, provider: string | undefined): Promise<boolean> {
    if (!isWired(config) || provider !== PROVIDER) return false;
    return this.gatewayHasMemory(config);
  }

  /** Does the gateway have memory at all? */
  async gatewayHasMemory(config: HostConfig): Promise<boolean> {
    if (performance.now() - this.#askedAt < BELIEVED_MS) return this.#remembers;
    try {
      const health = await ask(gatewayOf(config), "GET", "/healthz", { timeout: LOOK_MS });
      this.#remembers = health["memory"] === true;
      this.#askedAt = performance.now();
    } catch (error) {
      if (!(error instanceof MetaClawError)) throw error;
      // It is away: what it said last still holds, for it hands in what it journalled when it is back.
    }
    return this.#remembers;
  }
}

function found(value: unknown): Found {
  const one = value as Record<string, unknown>;
  const at = text(one["valid_from"] ?? one["created_at"]).slice(0, 10);
  return { id: text(one["memory_id"]), content: text(one["content"]), type: text(one["type"]), at };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : "";
}
