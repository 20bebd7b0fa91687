import pg from "pg";
import type { Logger } from "./logger.ts";
import { traceQueries } from "./tracing/queries.ts";
import { withSpan } from "./tracing/tracer.ts";

export type Queryable = Pick<pg.ClientBase, "query">;
export type Database = pg.Pool;
export type Connection = pg.PoolClient;

export type DatabaseOptions = {
  url: string;
  /** The name in pg_stat_activity. */
  applicationName: string;
  maxConnections: number;
};

// Returns bigint columns as numbers: they hold counts and ids below 2^53.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => new Date(text));

/**
 * Opens a connection pool. The role's statement_timeout bounds the statements, because pg's query_timeout would return a connection to the
 * pool while its statement is still running (node-postgres#3399).
 */
export function openDatabase(options: DatabaseOptions, log: Logger): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.maxConnections,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    types,
  });
  // Without this listener, losing an idle connection ends the process (node-postgres#1790).
  pool.on("error", (error) => log.warn({ error }, "idle database connection lost"));
  // The same for a connection in use. Its next statement reports the error.
  pool.on("connect", (connection) => connection.on("error", () => undefined));
  traceQueries(pool);
  return pool;
}

/** Runs `work` in one transaction. If it throws, rolls back, and closes the connection if the rollback fails too. */
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
    try {
      await connection.query("ROLLBACK");
      connection.release();
    } catch {
      connection.release(true);
    }
    throw error;
  }
}

/** Returns the SQLSTATE of a database error, e.g. `23505`; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
