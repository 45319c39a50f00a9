/** Says once that something is away, and once that it is back; the agent's turns go on either way. */

import type { Logger } from "./host.ts";

export class Trouble {
  readonly #logger: Logger;
  readonly #what: string;
  #told = false;

  constructor(logger: Logger, what: string) {
    this.#logger = logger;
    this.#what = what;
  }

  /** Do it; what fails is told at the first time only. Answers undefined then. */
  async openly<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      const done = await work();
      if (this.#told) this.#logger.info(`MetaClaw: ${this.#what} works again`);
      this.#told = false;
      return done;
    } catch (error) {
      if (!this.#told) this.#logger.warn(`MetaClaw: ${this.#what} failed; your agent goes on without it: ${reason(error)}`);
      this.#told = true;
      return undefined;
    }
  }
}

/** An error in one line. */
export function reason(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, " ");
}
