import {
  type Database,
  type Lifecycle,
  type Logger,
  type ShardedDatabase,
  shardOfWorkspace,
  sqlState,
} from "@parley/service-kit";
import type { Metrics } from "../metrics.ts";
import { type CallRow, insertCalls } from "./calls.store.ts";

type CallLogMetrics = Pick<Metrics, "callLogRows" | "callLogFailures">;

const FLUSH_INTERVAL_MS = 200;
const MAX_BATCH_ROWS = 1_000;
/** Of each shard, and of the workspaces whose shard is not known yet. */
const MAX_PENDING_ROWS = 20_000;

/**
 * Stores the rows of llm.calls in the background, so that no generation waits for the database. Each shard has its own queue, so a shard that is
 * away does not delay the rows of the others.
 */
export class CallLog {
  readonly #sharded: ShardedDatabase;
  readonly #queues: readonly CallLogQueue[];
  readonly #metrics: CallLogMetrics;
  readonly #log: Logger;
  /** With several shards, the rows whose shard must be found. */
  #newRows: CallRow[] = [];
  readonly #searches = new Set<Promise<void>>();

  constructor(sharded: ShardedDatabase, metrics: CallLogMetrics, log: Logger, lifecycle: Lifecycle) {
    this.#sharded = sharded;
    this.#queues = sharded.shards.map(({ database }) => new CallLogQueue(database, metrics, log));
    this.#metrics = metrics;
    this.#log = log;
    const timer = setInterval(() => {
      this.#queueNewRows();
      for (const queue of this.#queues) void queue.flush();
    }, FLUSH_INTERVAL_MS);
    lifecycle.onClose("call log", async () => {
      clearInterval(timer);
      this.#queueNewRows();
      await Promise.all(this.#searches);
      this.#reportDropped(this.#newRows.length);
      await Promise.all(this.#queues.map((queue) => queue.close()));
    });
  }

  add(row: CallRow): void {
    const [onlyQueue, ...others] = this.#queues;
    if (onlyQueue !== undefined && others.length === 0) {
      onlyQueue.add(row);
      return;
    }
    this.#newRows.push(row);
    if (this.#newRows.length > MAX_PENDING_ROWS) this.#reportDropped(this.#newRows.splice(0, 1).length);
  }

  /** Moves each new row to the queue of its workspace's shard. Rows whose shard cannot be found at present stay new rows. */
  #queueNewRows(): void {
    const rowsOf = Map.groupBy(this.#newRows.splice(0), ({ workspaceId }) => workspaceId);
    for (const [workspaceId, rows] of rowsOf) {
      const search = this.#queueRows(workspaceId, rows).finally(() => this.#searches.delete(search));
      this.#searches.add(search);
    }
  }

  async #queueRows(workspaceId: string, rows: readonly CallRow[]): Promise<void> {
    try {
      const { number } = await shardOfWorkspace(this.#sharded, "llm.calls", workspaceId);
      for (const row of rows) this.#queues[number]?.add(row);
    } catch (error) {
      this.#log.warn({ workspace_id: workspaceId, error }, "shard of call log rows not found, retrying");
      this.#metrics.callLogFailures.inc();
      for (const row of rows) this.add(row);
    }
  }

  #reportDropped(rows: number): void {
    if (rows === 0) return;
    this.#metrics.callLogRows.inc({ result: "dropped" }, rows);
    this.#log.warn({ rows }, "call log rows dropped");
  }
}

/** Stores the rows of one shard. While the shard is down, keeps the newest MAX_PENDING_ROWS rows in memory. */
class CallLogQueue {
  readonly #database: Database;
  readonly #metrics: CallLogMetrics;
  readonly #log: Logger;
  #pendingRows: CallRow[] = [];
  /** How many of the oldest pending rows were in memory when a write failed. */
  #lateRows = 0;
  #flushing: Promise<void> | undefined;

  constructor(database: Database, metrics: CallLogMetrics, log: Logger) {
    this.#database = database;
    this.#metrics = metrics;
    this.#log = log;
  }

  async close(): Promise<void> {
    await this.flush();
    // A flush that was already running may have missed the last rows.
    await this.flush();
    this.#dropOldest(this.#pendingRows.length);
  }

  add(row: CallRow): void {
    this.#pendingRows.push(row);
    this.#dropOldest(this.#pendingRows.length - MAX_PENDING_ROWS);
  }

  flush(): Promise<void> {
    this.#flushing ??= this.#storePending().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  async #storePending(): Promise<void> {
    let maxRows = MAX_BATCH_ROWS;
    while (this.#pendingRows.length > 0) {
      const batch = this.#pendingRows.splice(0, maxRows);
      const late = Math.min(batch.length, this.#lateRows);
      this.#lateRows -= late;
      try {
        await insertCalls(this.#database, batch);
        this.#metrics.callLogRows.inc({ result: "late" }, late);
        this.#metrics.callLogRows.inc({ result: "stored" }, batch.length - late);
        maxRows = MAX_BATCH_ROWS;
      } catch (error) {
        // Retrying a rejected row would block all later rows. Halving the batch isolates the rejected row, so that only this row is dropped.
        if (isRejectedRow(error) && batch.length === 1) {
          this.#reportDropped(1, { sqlstate: sqlState(error) });
          continue;
        }
        this.#pendingRows.unshift(...batch);
        this.#lateRows += late;
        this.#dropOldest(this.#pendingRows.length - MAX_PENDING_ROWS);
        if (isRejectedRow(error)) {
          maxRows = Math.ceil(batch.length / 2);
          continue;
        }
        this.#log.warn({ error }, "call log write failed, retrying");
        this.#lateRows = this.#pendingRows.length;
        this.#metrics.callLogFailures.inc();
        return;
      }
    }
  }

  #dropOldest(count: number): void {
    if (count <= 0) return;
    this.#pendingRows.splice(0, count);
    this.#lateRows = Math.max(0, this.#lateRows - count);
    this.#reportDropped(count);
  }

  #reportDropped(rows: number, reason?: { sqlstate: string | undefined }): void {
    this.#metrics.callLogRows.inc({ result: "dropped" }, rows);
    this.#log.warn({ rows, ...reason }, "call log rows dropped");
  }
}

/** SQLSTATE class 22 (data exception) or 23 (constraint violation). */
function isRejectedRow(error: unknown): boolean {
  return /^2[23]/.test(sqlState(error) ?? "");
}
