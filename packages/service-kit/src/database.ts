import pg from "pg";
import type { Logger } from "./logger.ts";
import { traceQueries } from "./tracing/queries.ts";
import { withSpan } from "./tracing/tracer.ts";

export type Queryable = Pick<pg.ClientBase, "query">;
export type Database = pg.Pool;
export type Connection = pg.PoolClient;

export type DatabaseOptions = {
  url: string;
  /** Named in pg_stat_activity. */
  applicationName: string;
  maxConnections: number;
};

// bigint columns hold ids below 2^53 and counts; they are numbers here.
const types = new pg.TypeOverrides();
types.setTypeParser(pg.types.builtins.INT8, Number);
types.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text) => new Date(text));

/**
 * A connection pool. Statements are bounded by the role's own statement_timeout: the client's query_timeout would hand a
 * connection back with its statement still running (node-postgres#3399).
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
  // Without a listener an idle connection that dies takes the process with it (node-postgres#1790).
  pool.on("error", (error) => log.warn({ error }, "idle database connection lost"));
  // So does one that dies while it is in use; its next statement says what has happened.
  pool.on("connect", (connection) => connection.on("error", () => undefined));
  traceQueries(pool);
  return pool;
}

/** Runs `work` in one transaction; a connection whose transaction failed is not reused. */
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

/** The SQLSTATE of a database error, e.g. `23505`; undefined for any other error. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined;
}
