import pg from "pg";
import type { Logger } from "../process/logger.ts";
import { withRetry } from "../process/retry.ts";
import type { Environment } from "../settings/environment.ts";
import { traceQueries } from "../tracing/queries.ts";
import { withSpan } from "../tracing/tracer.ts";

export type Queryable = Pick<pg.ClientBase, "query">;
export type Database = pg.Pool;
export type Connection = pg.PoolClient;

export type DatabaseOptions = {
  url: string;
  /** The name in pg_stat_activity. */
  applicationName: string;
  maxConnections: number;
  /** QUERY_TIMEOUT_MS unless set. 0 means no limit, for a role without statement_timeout. */
  queryTimeoutMs?: number;
  /** Whether named statements are prepared once per connection; true by default. */
  usesPreparedStatements?: boolean;
  /** Whether the pool leads to a router. Its connections then lead to no server, so the loss of a server does not concern the idle ones. */
  isRouted?: boolean;
  /** Aborted when the process begins to stop. Idle connections then close, which leaves room for the replacement process. */
  closingSignal?: AbortSignal;
};

/** Above the 10 s of the roles' statement_timeout. */
const QUERY_TIMEOUT_MS = 12_000;
/** After this idle time, Node sends ten TCP keepalive probes, one a second: a dead idle connection is closed after 20 s. */
const KEEPALIVE_DELAY_MS = 10_000;
const CLOSING_IDLE_TIMEOUT_MS = 1_000;
/** A connection is replaced at this age, because the DNS name or the load balancer may now lead to another server. */
const MAX_LIFETIME_SECONDS = 600;

/** SQLSTATE read_only_sql_transaction. */
const READ_ONLY = "25006";
/** SQLSTATE class 08 (connection), the SQLSTATEs of a server shutdown and of a router without its shard, and Node's codes for a closed connection. */
const LOST_CONNECTION = /^(08...|57P0[123]|58000|ECONNRESET|EPIPE)$/;
/** The delays before the retries of a read. The second delay outlasts a restart of the server's processes. */
const RETRY_DELAYS_MS = [50, 1_000];

// Returns bigint columns as numbers: they hold counts and ids below 2^53.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => new Date(text));

/**
 * Reads DATABASE_PREPARED_STATEMENTS, which is `on` or `off`. A pooler that assigns a server connection to each transaction, and does not
 * track prepared statements itself, needs `off`: a named statement would be missing on the next server connection, or exist there already.
 */
export function readPreparedStatements(environment: Environment): boolean {
  return environment.oneOf("DATABASE_PREPARED_STATEMENTS", ["on", "off"], "on") === "on";
}

/**
 * Opens a connection pool. On the server, the role's statement_timeout limits each statement. If the server disappears without closing its
 * connections, a statement without a response fails after the query timeout. The pool then closes that connection and all idle
 * connections. It does the same if the server is read-only, because after a failover a new connection may lead to the new primary.
 */
export function openDatabase(options: DatabaseOptions, log: Logger): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
    maxLifetimeSeconds: MAX_LIFETIME_SECONDS,
    query_timeout: options.queryTimeoutMs ?? QUERY_TIMEOUT_MS,
    types,
  });
  // Without this listener, losing an idle connection ends the process (node-postgres#1790).
  pool.on("error", (error) => log.warn({ error }, "idle database connection lost"));
  // Without this listener, losing a connection in use would end the process too. The connection's next statement reports the error.
  pool.on("connect", (connection) => connection.on("error", () => undefined));
  if (options.usesPreparedStatements === false) pool.on("connect", removeStatementNames);
  pool.on("release", (error: unknown) => {
    if (options.isRouted || !mustReconnect(error)) return;
    log.warn({ error, idle_connections: pool.idleCount }, "database server lost, idle connections closed");
    closeIdle(pool);
  });
  options.closingSignal?.addEventListener("abort", () => {
    // The pool reads this option whenever a connection becomes idle.
    pool.options.idleTimeoutMillis = CLOSING_IDLE_TIMEOUT_MS;
    closeIdle(pool);
  });
  traceQueries(pool);
  return pool;
}

type ConnectCallback = (error: unknown, connection?: Connection, release?: Connection["release"]) => void;

/** Returns a pool's `connect` that gets the connections from `acquire`. Pool.query calls it with a callback. */
export function connectWith(acquire: () => Promise<Connection>): Database["connect"] {
  const connect = (callback?: ConnectCallback) => {
    const acquired = acquire();
    if (callback === undefined) return acquired;
    acquired.then(
      (connection) => callback(undefined, connection, connection.release.bind(connection)),
      (error: unknown) => callback(error),
    );
    return undefined;
  };
  return connect as Database["connect"];
}

/** Makes a connection send every statement unnamed, so that no prepared statement remains on the server. */
function removeStatementNames(connection: Connection): void {
  const query = connection.query.bind(connection) as (...args: unknown[]) => unknown;
  const queryUnnamed = (statement: string | pg.QueryConfig, ...rest: unknown[]) =>
    query(typeof statement === "string" ? statement : { ...statement, name: undefined }, ...rest);
  connection.query = queryUnnamed as typeof connection.query;
}

/** Returns whether an error shows that a connection leads to a server that does not respond or accepts no writes. */
function mustReconnect(error: unknown): error is Error {
  // pg's error for query_timeout has no code.
  return error instanceof Error && (sqlState(error) === READ_ONLY || error.message === "Query read timeout");
}

function closeIdle(pool: Database): void {
  for (let count = pool.idleCount; count > 0; count--) {
    // connect() rejects if the pool is closed. The idle connections are then closed too.
    pool.connect().then(
      (connection) => connection.release(true),
      () => undefined,
    );
  }
}

/** Returns a statement with its own query timeout, for a transaction that raises statement_timeout. */
export function withQueryTimeout(text: string, values: unknown[], timeoutMs: number): pg.QueryConfig {
  // pg reads query_timeout from a statement, but its types lack the property.
  const query = { text, values, query_timeout: timeoutMs };
  return query;
}

/** Runs `work` in one transaction. If `work` throws, rolls back. If the rollback fails too, closes the connection. */
export function transaction<T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T> {
  const options = { kind: "client", attributes: { "db.system.name": "postgresql" } } as const;
  return withSpan("transaction", options, () => inTransaction(database, work));
}

async function inTransaction<T>(database: Database, work: (connection: Connection) => Promise<T>): Promise<T> {
  const connection = await database.connect();
  try {
    await connection.query("BEGIN");
    const result = await work(connection);
    await connection.query("COMMIT");
    connection.release();
    return result;
  } catch (error) {
    await rollBack(connection, error);
    throw error;
  }
}

/**
 * Rolls back a transaction and returns its connection to the pool. Closes the connection instead if the rollback fails, or if `error` ended the
 * transaction and shows one of these:
 * - The server does not respond. A ROLLBACK would wait behind the unanswered statement.
 * - The server is read-only. Transactions need a connection to another server.
 */
export async function rollBack(connection: Connection, error?: unknown): Promise<void> {
  if (mustReconnect(error)) return connection.release(error);
  try {
    await connection.query("ROLLBACK");
    connection.release();
  } catch (failure) {
    connection.release(failure instanceof Error ? failure : true);
  }
}

/** Runs `read`, which must not write. If the server closes the connection, retries up to two times on another connection. */
export function readWithRetry<T>(read: () => Promise<T>): Promise<T> {
  const delayMs = (attempts: number) => RETRY_DELAYS_MS[attempts - 1] ?? Number.NaN;
  return withRetry(read, { canRetry: (error, attempts) => isConnectionLost(error) && delayMs(attempts) > 0, delayMs });
}

function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === "string"
    ? LOST_CONNECTION.test(code)
    : // pg's errors for a connection that closed have no code.
      error.message.startsWith("Connection terminated") ||
        error.message === "Client has encountered a connection error and is not queryable";
}

/** Returns the SQLSTATE of a database error, e.g. `23505`; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
