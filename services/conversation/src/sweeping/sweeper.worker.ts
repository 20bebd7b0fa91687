import type { Database, Logger } from "@parley/service-kit";
import { QueueReadStart, ReaderLease } from "../leases/index.ts";
import type { NotifySettler } from "../turns/index.ts";
import { deleteOldEdgeRows } from "./edge-leases.store.ts";
import { readClock, readSweepMark, sweep } from "./sweep.store.ts";

const BATCH_TURNS = 200;

/**
 * Closes the turns of edges whose lease has expired. The caller runs sweepIfSafe() six times per edge lease. After its start and after a
 * database outage, the sweeper first waits for the length of an edge lease, so that every running edge can renew its lease. One replica at a
 * time sweeps.
 */
export class Sweeper {
  readonly #database: Database;
  readonly #edgeLeaseSeconds: number;
  /** If the database was unavailable for longer than this, edges may have been unable to renew their leases. */
  readonly #graceSeconds: number;
  readonly #onTurnsClosed: NotifySettler;
  readonly #log: Logger;
  readonly #readClock: typeof readClock;
  readonly #readerLease: ReaderLease;
  /** Provides the `openedSince` of a sweep, so that most sweeps skip the index entries of closed turns. */
  readonly #readStart = new QueueReadStart();
  /** The database's time at the last run; undefined before the first run, and if the last run could not read it. */
  #lastRunAt: string | undefined;
  /** Seconds since the last gap of more than #graceSeconds between two runs, by the database's clock. */
  #availableSeconds = 0;

  constructor(
    database: Database,
    edgeLeaseSeconds: number,
    onTurnsClosed: NotifySettler,
    log: Logger,
    clock = readClock,
  ) {
    this.#database = database;
    this.#edgeLeaseSeconds = edgeLeaseSeconds;
    this.#graceSeconds = edgeLeaseSeconds / 2;
    this.#readClock = clock;
    this.#readerLease = new ReaderLease(database, "sweep", edgeLeaseSeconds / 2);
    this.#onTurnsClosed = onTurnsClosed;
    this.#log = log;
  }

  /** Sweeps if the database has been available for the length of an edge lease. Returns the number of turns closed. */
  async sweepIfSafe(): Promise<number> {
    const previous = this.#lastRunAt;
    this.#lastRunAt = undefined;
    const { now, seconds } = await this.#readClock(this.#database, previous);
    this.#lastRunAt = now;
    this.#availableSeconds = seconds >= 0 && seconds <= this.#graceSeconds ? this.#availableSeconds + seconds : 0;
    if (this.#availableSeconds < this.#edgeLeaseSeconds) return 0;
    if (await this.#readerLease.hold()) return this.#sweepAll(now);
    this.#readStart.reset();
    return 0;
  }

  /** Lets another replica sweep before this one's reader lease expires. */
  stop(): Promise<void> {
    return this.#readerLease.release();
  }

  async #sweepAll(databaseRespondedAt: string): Promise<number> {
    let total = 0;
    const openedSince = this.#readStart.nextStart();
    const mark = await readSweepMark(this.#database, openedSince);
    for (;;) {
      const closed = await sweep(this.#database, {
        leaseSeconds: this.#edgeLeaseSeconds,
        databaseRespondedAt,
        graceSeconds: this.#graceSeconds,
        limit: BATCH_TURNS,
        openedSince,
      });
      this.#onTurnsClosed(closed);
      total += closed.length;
      if (closed.length < BATCH_TURNS) break;
    }
    this.#readStart.advance(mark);
    if (total > 0) this.#log.info({ turns: total }, "turns closed as interrupted");
    await deleteOldEdgeRows(this.#database);
    return total;
  }
}
