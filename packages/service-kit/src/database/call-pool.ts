import { ServiceError } from "../errors.ts";
import type { Connection, Database } from "./database.ts";

/**
 * If a call has waited for a connection for this long, refuseIfOverloaded refuses new calls: they would probably get a connection too late.
 * Half of OpenTurn's deadline.
 */
const MAX_WAIT_MS = 5_000;

type Callback = (error: unknown, connection?: Connection, release?: Connection["release"]) => void;

/**
 * The share of the pool's connections that calls may use. The rest is for work that must complete, such as closing a turn, and must not wait
 * behind new calls.
 */
const SHARE_OF_CALLS = 0.75;

/** Gives RPC calls at most a share of the pool's connections. Once its signal is aborted, a call gets no connection. */
export class CallPool {
  readonly #database: Database;
  /** How many more connections calls may take from the pool. */
  #unusedConnections: number;
  /** The calls that wait for a connection of the share, oldest first: for each, the function that lets it continue. */
  readonly #queue = new Set<() => void>();
  /** When each call that waits for a connection started to wait, oldest first. */
  readonly #waits = new Set<{ sinceMs: number }>();

  constructor(database: Database, share = SHARE_OF_CALLS) {
    this.#database = database;
    this.#unusedConnections = Math.max(1, Math.floor(database.options.max * share));
  }

  /** Returns a view of the pool for one call. Once the call's signal is aborted, the view gives no connection: the caller has left. */
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
    // Pool.query calls `connect`.
    return Object.create(this.#database, { connect: { value: connect } }) as Database;
  }

  /** The number of calls that wait because other calls use the whole share. The pool's waitingCount does not include them. */
  get queuedCount(): number {
    return this.#queue.size;
  }

  /** Throws resource_exhausted with the code `overloaded` if a call has waited too long for a connection. */
  refuseIfOverloaded(): void {
    const [oldest] = this.#waits;
    if (oldest === undefined || performance.now() - oldest.sinceMs < MAX_WAIT_MS) return;
    throw new ServiceError("resource_exhausted", "overloaded", "too many calls wait for the database");
  }

  /** Connects. Rejects as soon as the signal is aborted. */
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
      // The pool cannot remove a waiting request. A connection is released as soon as the pool provides it.
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

  /** Waits for a free connection of the calls' share, then for the pool. */
  async #connect(signal: AbortSignal): Promise<Connection> {
    if (this.#unusedConnections > 0) this.#unusedConnections--;
    else await this.#waitInQueue(signal);
    try {
      signal.throwIfAborted();
      const connection = await this.#database.connect();
      const { release } = connection;
      connection.release = (error) => {
        release.call(connection, error);
        this.#returnConnection();
      };
      return connection;
    } catch (error) {
      this.#returnConnection();
      throw error;
    }
  }

  /** Waits for a connection of the calls' share. Rejects when the signal is aborted. */
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

  #returnConnection(): void {
    const [next] = this.#queue;
    if (next === undefined) {
      this.#unusedConnections++;
      return;
    }
    this.#queue.delete(next);
    next();
  }
}
