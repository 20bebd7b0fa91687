import { ServiceError } from "../errors.ts";
import { FairQueue } from "../limiters/fair-queue.ts";
import { type Connection, connectWith, type Database } from "./database.ts";
import { connectInPlace, NO_SHARD, routedPoolOf, SHARD_RULE } from "./shard-limit.ts";

/** How long a call may wait for a connection before new calls are refused. Half of OpenTurn's deadline. */
const MAX_WAIT_MS = 5_000;

/**
 * The share of the pool's connections that the calls of a CallPool may use by default. The other connections are for work that must not wait
 * behind these calls, such as CloseTurn.
 */
const CALL_SHARE = 0.75;

/** Limits the calls that use it to a share of a pool's connections. If the pool leads to a router, also divides this share between the shards. */
export class CallPool {
  readonly #database: Database;
  /** The connections in use and the calls that wait for the share, by shard. */
  readonly #places: FairQueue;
  /** The calls that wait for a connection, for the share or for the pool. Oldest first. */
  readonly #waits = new Set<{ sinceMs: number; shard: string }>();

  constructor(database: Database, share = CALL_SHARE) {
    this.#database = database;
    const maxActive = Math.max(1, Math.floor(database.options.max * share));
    this.#places = new FairQueue({ maxActive, ...(routedPoolOf(database) && SHARD_RULE) });
  }

  /** Returns a view of the pool for one call. The view gives no connection after the call's signal is aborted. */
  databaseFor(signal: AbortSignal): Database {
    // Pool.query also uses this `connect`.
    return Object.create(this.#database, { connect: { value: connectWith(() => this.#acquire(signal)) } }) as Database;
  }

  /** The calls that wait because the share, or their shard's part of it, is in use; by shard. The pool's waitingCount does not include them. */
  get waiting(): FairQueue["waiting"] {
    return this.#places.waiting;
  }

  /** The number of these calls. */
  get queuedCount(): number {
    return [...this.waiting.values()].reduce((sum, { size }) => sum + size, 0);
  }

  /** Throws resource_exhausted with the code `overloaded` if a call for the same shard has waited too long for a connection. */
  refuseIfOverloaded(): void {
    const current = this.#currentShard();
    for (const { shard, sinceMs } of this.#waits) {
      if (shard !== current) continue;
      if (performance.now() - sinceMs < MAX_WAIT_MS) return;
      throw new ServiceError("resource_exhausted", "overloaded", "too many calls wait for the database");
    }
  }

  #currentShard(): string {
    return routedPoolOf(this.#database)?.currentShard() ?? NO_SHARD;
  }

  async #acquire(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    const wait = { sinceMs: performance.now(), shard: this.#currentShard() };
    this.#waits.add(wait);
    const pending = this.#connect(signal, wait);
    let onAbort: (() => void) | undefined;
    const aborted = new Promise<never>((_, reject) => {
      onAbort = () => reject(signal.reason);
      signal.addEventListener("abort", onAbort, { once: true });
    });
    try {
      return await Promise.race([pending, aborted]);
    } catch (error) {
      // A request to the pool cannot be withdrawn, so its connection is released as soon as the pool provides it.
      pending.then(
        (connection) => connection.release(),
        () => undefined,
      );
      throw error;
    } finally {
      this.#waits.delete(wait);
      if (onAbort !== undefined) signal.removeEventListener("abort", onAbort);
    }
  }

  /** Waits until the share has a place for the call's shard, then for the pool. */
  async #connect(signal: AbortSignal, wait: { shard: string }): Promise<Connection> {
    const routed = routedPoolOf(this.#database);
    if (routed !== undefined) wait.shard = await routed.findShard();
    const free = await this.#places.acquire(wait.shard, signal);
    return connectInPlace(free, () => this.#database.connect());
  }
}
