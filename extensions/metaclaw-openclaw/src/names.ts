/**
 * The names of conversations at MetaClaw. Usually OpenClaw's session id; but `/new` may keep that id, and a compaction
 * may replace it, so what differs is kept in a small file that outlives the gateway.
 */

import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const MOST = 1000;

export class Names {
  readonly #file: string;
  #known: Map<string, string> | undefined;

  constructor(stateDir: string) {
    this.#file = join(stateDir, "metaclaw-openclaw", "conversations.json");
  }

  /** What MetaClaw calls this session now. */
  of(sessionId: string): string {
    return this.#load().get(sessionId) ?? sessionId;
  }

  /** The conversation goes on under another session id. */
  follow(previous: string, next: string): void {
    if (previous !== next) this.#put(next, this.of(previous));
  }

  /** Another conversation begins under the same session id. */
  renew(sessionId: string): void {
    const [base, count] = splitCount(this.of(sessionId));
    this.#put(sessionId, `${base}.${count + 1}`);
  }

  /** A session that will not come back. */
  forget(sessionId: string): void {
    if (this.#load().delete(sessionId)) this.#save();
  }

  #put(sessionId: string, name: string): void {
    const known = this.#load();
    known.delete(sessionId);
    known.set(sessionId, name);
    for (const oldest of known.keys()) {
      if (known.size <= MOST) break;
      known.delete(oldest);
    }
    this.#save();
  }

  #load(): Map<string, string> {
    if (this.#known) return this.#known;
    let stored: unknown = {};
    try {
      stored = JSON.parse(readFileSync(this.#file, "utf8"));
    } catch {
      // None yet, or unreadable: sessions then go by their own ids.
    }
    const pairs = Object.entries(stored ?? {}).filter((pair): pair is [string, string] => typeof pair[1] === "string");
    this.#known = new Map(pairs);
    return this.#known;
  }

  #save(): void {
    const written = `${this.#file}.${process.pid}.new`;
    try {
      mkdirSync(dirname(this.#file), { recursive: true, mode: 0o700 });
      writeFileSync(written, JSON.stringify(Object.fromEntries(this.#load())), { mode: 0o600 });
      renameSync(written, this.#file);
    } catch {
      // A full disk costs a name after the next restart, not the turn.
    }
  }
}

function splitCount(name: string): [string, number] {
  const match = /^(.*)\.(\d+)$/.exec(name);
  return match?.[1] ? [match[1], Number(match[2])] : [name, 1];
}
