import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { claimLease, type Lease, releaseLease } from "./leases.store.ts";

/** How many times each replica tries to take or renew the lease within the lease's duration. */
const WRITES_PER_LEASE = 3;

/** Lets one replica at a time read a queue. After a crash of the holder, no replica reads the queue for up to 4/3 of the lease's duration. */
export class ReaderLease {
  readonly #database: Database;
  readonly #lease: Lease;
  readonly #writeEveryMs: number;
  #isHeld: boolean = false;
  #writtenAtMs = Number.NEGATIVE_INFINITY;

  constructor(database: Database, task: string, leaseSeconds: number) {
    this.#database = database;
    this.#lease = { task, holder: randomUUID(), leaseSeconds };
    this.#writeEveryMs = (leaseSeconds * 1_000) / WRITES_PER_LEASE;
  }

  /**
   * Returns whether this replica holds the lease. Tries to take or renew it at most once in a third of its duration. If the query fails, throws,
   * and the next call tries again immediately.
   */
  async hold(): Promise<boolean> {
    const nowMs = performance.now();
    if (nowMs - this.#writtenAtMs < this.#writeEveryMs) return this.#isHeld;
    // If the query fails, the lease counts as not held.
    this.#isHeld = false;
    this.#isHeld = (await claimLease(this.#database, this.#lease, 0)) !== undefined;
    this.#writtenAtMs = nowMs;
    return this.#isHeld;
  }

  /** Lets another replica take the lease immediately. Does nothing if this replica does not hold it. */
  async release(): Promise<void> {
    if (!this.#isHeld) return;
    this.#isHeld = false;
    await releaseLease(this.#database, this.#lease);
  }
}

/** How often a queue is read from its start, to find rows that committed late and rows that a database restore brought back. */
const FULL_READ_INTERVAL_MS = 60_000;

/**
 * Decides from where a queue is read. While a dump or another long transaction holds a snapshot, PostgreSQL keeps the index entries of deleted
 * rows. A read from the queue's start would scan all these entries each time. So most reads start at a mark: a time before which the queue was
 * empty. Once a minute, a read starts at the queue's start.
 */
export class QueueReadStart {
  #mark: string | undefined;
  #fullReadAtMs = Number.NEGATIVE_INFINITY;

  /** Returns the mark at which the next read starts, a time of the database's clock; undefined for the queue's start. */
  nextStart(): string | undefined {
    if (performance.now() - this.#fullReadAtMs < FULL_READ_INTERVAL_MS) return this.#mark;
    this.#mark = undefined;
    this.#fullReadAtMs = performance.now();
    return undefined;
  }

  /** Records that the queue has no rows before `mark`. */
  advance(mark: string): void {
    this.#mark = mark;
  }

  /** Makes the next read start at the queue's start. */
  reset(): void {
    this.#fullReadAtMs = Number.NEGATIVE_INFINITY;
  }
}
