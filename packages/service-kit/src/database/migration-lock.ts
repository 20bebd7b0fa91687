import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { MigrateOptions } from "./migrate-options.ts";

const LOCK_KEY = "hashtext('parley.migrate')";
const LOCK_POLL_MS = 100;
const SESSION_CHECK_ATTEMPTS = 5;
const KEEPALIVE_DELAY_MS = 10_000;

/**
 * Enables keepalives: while a long migration runs, a firewall or load balancer would otherwise drop the idle connection that holds the lock,
 * and the server would keep the lock.
 */
export function connectionConfig({ url, schema }: MigrateOptions) {
  return {
    connectionString: url,
    application_name: `parley-migrate-${schema}`,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
  };
}

/** `limits` are pg's timeouts. */
export function createClient(
  options: MigrateOptions,
  limits: Pick<pg.ClientConfig, "connectionTimeoutMillis" | "query_timeout"> = {},
): pg.Client {
  return new pg.Client({ ...connectionConfig(options), ...limits });
}

/**
 * Runs `work` while holding the lock. `assertLocked` throws if the lock's connection was lost. `work` must call `assertLocked` before each
 * change on another connection.
 */
export async function withLock<T>(
  options: MigrateOptions,
  work: (client: pg.Client, assertLocked: () => void) => Promise<T>,
): Promise<T> {
  const client = createClient(options);
  let connectionError: Error | undefined;
  const assertLocked = () => {
    if (connectionError !== undefined) throw connectionError;
  };
  // Without a listener, the event would end the process with a stack trace.
  client.on("error", (error) => {
    connectionError ??= error;
  });
  await client.connect();
  try {
    await assertHasOwnSession(client, options);
    await acquireLock(client);
    return await work(client, assertLocked);
  } catch (error) {
    if (connectionError === undefined) throw error;
    throw new Error(
      `the connection that holds the migrations' lock was lost (${connectionError.message}); ` +
        "check that nothing ends idle connections to the database, and run the migrations again",
      { cause: error },
    );
  } finally {
    // A pooler in session mode may keep the session, and with it the lock.
    await client.query(`SELECT pg_advisory_unlock(${LOCK_KEY})`).catch(() => undefined);
    await client.end();
  }
}

/**
 * Throws if a pooler in transaction mode gives both connections the same server process in turn. The advisory lock would then belong to a
 * session that other clients use. Checks several times, because a busy pooler may give them different processes by chance.
 */
export async function assertHasOwnSession(client: pg.Client, options: MigrateOptions): Promise<void> {
  const other = createClient(options);
  const readProcess = async (connection: pg.Client) => {
    const { rows } = await connection.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return rows[0]?.pid;
  };
  // The next statement on a lost connection fails. Without a listener, the event would end the process with a stack trace.
  other.on("error", () => undefined);
  await other.connect();
  try {
    const [own, others] = [new Set(), new Set()];
    for (let attempt = 0; attempt < SESSION_CHECK_ATTEMPTS; attempt++) {
      own.add(await readProcess(client));
      others.add(await readProcess(other));
    }
    if (own.isDisjointFrom(others) || (await isSingleProcess(client))) return;
  } finally {
    await other.end();
  }
  const { host, port, user } = client;
  const remedy =
    options.shard === undefined
      ? "connect the migrations to the PostgreSQL server itself (chart: migrations.database.host)"
      : `set the router's session mode for ${user}, or connect the migrations to a router in session mode (chart: migrations.database.host)`;
  throw new Error(`${host}:${port} is a pooler in transaction mode; ${remedy}`);
}

/** Recognizes servers like PGlite, whose connections all share one session. PostgreSQL always has more than one process. */
async function isSingleProcess(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ processes: string }>("SELECT count(*) AS processes FROM pg_stat_activity");
  return Number(rows[0]?.processes) <= 1;
}

/**
 * Takes the advisory lock that all services of the database share. Polls, because a statement that waits for the lock would hold a snapshot.
 * The lock's holder may run CREATE INDEX CONCURRENTLY, which waits for older snapshots: a deadlock.
 */
async function acquireLock(client: pg.Client): Promise<void> {
  const tryLock = `SELECT pg_try_advisory_lock(${LOCK_KEY}) AS locked`;
  while (!(await client.query<{ locked: boolean }>(tryLock)).rows[0]?.locked) await sleep(LOCK_POLL_MS);
}
