import { type Database, type Lifecycle, type Logger, sqlState } from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import { type CallRow, insertCalls } from "./calls.store.ts";

type LedgerMetrics = Pick<Metrics, "ledgerRows" | "ledgerFailures">;

const FLUSH_MS = 200;
const MAX_BATCH_ROWS = 1_000;
const MAX_WAITING_ROWS = 20_000;

/** Takes the ledger's rows without making any reply wait, and stores them in batches. A database that is away delays them. */
export class Ledger {
  readonly #database: Database;
  readonly #metrics: LedgerMetrics;
  readonly #log: Logger;
  #waiting: CallRow[] = [];
  #late: boolean = false;
  #flushing: Promise<void> | undefined;

  constructor(database: Database, metrics: LedgerMetrics, log: Logger, lifecycle: Lifecycle) {
    this.#database = database;
    this.#metrics = metrics;
    this.#log = log;
    const timer = setInterval(() => void this.#flush(), FLUSH_MS);
    lifecycle.onClose("call ledger", async () => {
      clearInterval(timer);
      await this.#flush();
      // The one under way may have begun before the last rows came.
      await this.#flush();
      this.#drop(this.#waiting.length);
    });
  }

  add(row: CallRow): void {
    this.#waiting.push(row);
    this.#drop(this.#waiting.length - MAX_WAITING_ROWS);
  }

  #flush(): Promise<void> {
    this.#flushing ??= this.#store().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #store(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, MAX_BATCH_ROWS);
      try {
        await insertCalls(this.#database, batch);
        this.#metrics.ledgerRows.inc({ result: this.#late ? "late" : "stored" }, batch.length);
        this.#late = false;
      } catch (error) {
        if (!this.#late) this.#log.warn({ error }, "the call ledger cannot be written; its rows wait");
        this.#late = true;
        this.#metrics.ledgerFailures.inc();
        this.#keep(batch, error);
        return;
      }
    }
  }

  // Rows that the database itself refuses (SQLSTATE class 22 or 23) would be refused for ever, and hold up all others.
  #keep(batch: CallRow[], error: unknown): void {
    if (/^2[23]/.test(sqlState(error) ?? "")) this.#metrics.ledgerRows.inc({ result: "dropped" }, batch.length);
    else this.#waiting.unshift(...batch);
    this.#drop(this.#waiting.length - MAX_WAITING_ROWS);
  }

  /** Drops the oldest `count` rows. */
  #drop(count: number): void {
    if (count <= 0) return;
    this.#waiting.splice(0, count);
    this.#metrics.ledgerRows.inc({ result: "dropped" }, count);
    this.#log.warn({ rows: count }, "rows of the call ledger dropped");
  }
}
