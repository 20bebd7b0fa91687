import type { Database, Logger } from "@parley/service-kit";
import type { Settlement } from "../turns/index.ts";
import { deleteLapsedLeases } from "./edge-leases.store.ts";
import { readClock, sweep } from "./sweep.store.ts";

const BATCH = 200;

/**
 * Closes the turns of edges whose lease has lapsed. The caller runs tick() six times per lease. After its start and after a database
 * outage, the sweeper first waits for the length of one lease, so that every running edge can renew its lease. Replicas may sweep
 * concurrently.
 */
export class Sweeper {
  readonly #database: Database;
  readonly #leaseSeconds: number;
  /** If the database was unavailable for longer than this, edges may have been unable to renew their leases. */
  readonly #graceSeconds: number;
  readonly #onClosed: (closed: readonly Settlement[]) => void;
  readonly #log: Logger;
  readonly #readClock: typeof readClock;
  /** The database's time at the last tick; undefined if that tick failed. */
  #seenAt: string | undefined;
  /** Seconds since the last gap of more than #graceSeconds between two ticks, by the database's clock. */
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

  /** Reads the database's clock, and sweeps if the database was available for a full lease. Returns the number of turns closed. */
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
    if (total > 0) this.#log.info({ turns: total }, "turns of lapsed edges closed");
    await deleteLapsedLeases(this.#database);
    return total;
  }
}
