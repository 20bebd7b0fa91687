import { ServiceError } from "../errors.ts";
import type { Connection, Database } from "./database.ts";

/** How long a call may wait for a connection before new calls are refused. Half of OpenTurn's deadline. */
const MAX_WAIT_MS = 5_000;

type Callback = (error: unknown, connection?: Connection, release?: Connection["release"]) => void;

/**
 * The share of the pool's connections that the calls of a CallPool may use by default. The other connections are for work that must not wait
 * behind these calls, such as CloseTurn.
 */
const CALL_SHARE = 0.75;

/** Limits the calls that use it to a share of a pool's connections. */
export class CallPool {
  readonly #database: Database;
  /** How many more connections calls may take. */
  #freeSlots: number;
  /** For each call that waits because the share is in use, the function that lets the call continue. Oldest first. */
  readonly #queue = new Set<() => void>();
  /** When each waiting call started to wait, for the share or for the pool. Oldest first. */
  readonly #waits = new Set<{ sinceMs: number }>();

  constructor(database: Database, share = CALL_SHARE) {
    this.#database = database;
    this.#freeSlots = Math.max(1, Math.floor(database.options.max * share));
  }

  /** Returns a view of the pool for one call. The view gives no connection after the call's signal is aborted. */
  databaseFor(signal: AbortSignal): Database {
    const connect = (callback?: Callback) => {
      const acquired = this.#acquire(signal);
      if (callback === undefined) return acquired;
      acquired.then(
        (connection) => callback(undefined, connection, connection.release.bind(connection)),
        (error: unknown) => callback(error),
      );
      return undefined;
    };
    // Pool.query also uses this `connect`.
    return Object.create(this.#database, { connect: { value: connect } }) as Database;
  }

  /** The number of calls that wait because the share is in use. The pool's waitingCount does not include them. */
  get queuedCount(): number {
    return this.#queue.size;
  }

  /** Throws resource_exhausted with the code `overloaded` if a call has waited too long for a connection. */
  refuseIfOverloaded(): void {
    const [oldest] = this.#waits;
    if (oldest === undefined || performance.now() - oldest.sinceMs < MAX_WAIT_MS) return;
    throw new ServiceError("resource_exhausted", "overloaded", "too many calls wait for the database");
  }

  async #acquire(signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    const wait = { sinceMs: performance.now() };
    this.#waits.add(wait);
    const pending = this.#connect(signal);
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

  /** Waits until the share has a free connection, then for the pool. */
  async #connect(signal: AbortSignal): Promise<Connection> {
    if (this.#freeSlots > 0) this.#freeSlots--;
    else await this.#waitInQueue(signal);
    try {
      signal.throwIfAborted();
      const connection = await this.#database.connect();
      const { release } = connection;
      connection.release = (error) => {
        release.call(connection, error);
        this.#releaseSlot();
      };
      return connection;
    } catch (error) {
      this.#releaseSlot();
      throw error;
    }
  }

  #waitInQueue(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.#queue.delete(proceed);
        reject(signal.reason);
      };
      const proceed = () => {
        signal.removeEventListener("abort", leave);
        resolve();
      };
      this.#queue.add(proceed);
      signal.addEventListener("abort", leave, { once: true });
    });
  }

  #releaseSlot(): void {
    const [next] = this.#queue;
    if (next === undefined) {
      this.#freeSlots++;
      return;
    }
    this.#queue.delete(next);
    next();
  }
}
