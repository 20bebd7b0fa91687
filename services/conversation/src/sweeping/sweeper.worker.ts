import type { Database, Logger } from "@parley/service-kit";
import type { Settlement } from "../turns/index.ts";
import { forgetEdges } from "./edge-leases.store.ts";
import { readClock, sweep } from "./sweep.store.ts";

const BATCH = 200;

/**
 * Closes the turns of edges that are gone. It is to look six times a lease; after its start, and after the database was away, it first
 * watches for one full lease, so that every edge that lives has renewed its own. Any number of replicas may sweep at once.
 */
export class Sweeper {
  readonly #database: Database;
  readonly #leaseSeconds: number;
  /** A database that was silent for longer than this, by its own clock, may have let leases lapse that nobody could renew. */
  readonly #graceSeconds: number;
  readonly #onClosed: (closed: readonly Settlement[]) => void;
  readonly #log: Logger;
  readonly #readClock: typeof readClock;
  /** The database's time at its last answer; undefined when it did not answer. */
  #seenAt: string | undefined;
  /** Seconds of the database's time during which it has answered without a gap. */
  #steadySeconds = 0;

  constructor(
    database: Database,
    leaseSeconds: number,
    onClosed: (closed: readonly Settlement[]) => void,
    log: Logger,
    clock = readClock,
  ) {
    this.#database = database;
    this.#leaseSeconds = leaseSeconds;
    this.#graceSeconds = leaseSeconds / 2;
    this.#readClock = clock;
    this.#onClosed = onClosed;
    this.#log = log;
  }

  /** One look at the clock and, once the database has been steady for a whole lease, one sweep. Answers with the number of turns closed. */
  async tick(): Promise<number> {
    const previous = this.#seenAt;
    this.#seenAt = undefined;
    const { now, seconds } = await this.#readClock(this.#database, previous);
    this.#seenAt = now;
    this.#steadySeconds = seconds >= 0 && seconds <= this.#graceSeconds ? this.#steadySeconds + seconds : 0;
    if (this.#steadySeconds < this.#leaseSeconds) return 0;
    return this.#sweepAll(now);
  }

  async #sweepAll(seenAt: string): Promise<number> {
    let total = 0;
    for (;;) {
      const closed = await sweep(this.#database, {
        leaseSeconds: this.#leaseSeconds,
        seenAt,
        graceSeconds: this.#graceSeconds,
        limit: BATCH,
      });
      this.#onClosed(closed);
      total += closed.length;
      if (closed.length < BATCH) break;
    }
    if (total > 0) this.#log.info({ turns: total }, "closed turns whose edge is gone");
    await forgetEdges(this.#database);
    return total;
  }
}
