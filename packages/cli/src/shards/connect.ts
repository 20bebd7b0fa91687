import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Server, urlOn } from "./settings.ts";

/** Long enough for a slow network, and short enough that one dead server does not delay a report much. */
const CONNECT_TIMEOUT_MS = 5_000;

/** The connection that holds a move's lock is idle for hours. Without keepalives, a firewall or load balancer could drop it. */
const KEEPALIVE_DELAY_MS = 10_000;

/** The name in pg_stat_activity. The fence of a move spares it. */
export const APPLICATION_NAME = "parley-shards";

export type Client = pg.Client;

/** Opens a connection. A lost connection fails its next statement. */
export async function connect(url: string): Promise<Client> {
  const client = new pg.Client({
    connectionString: url,
    application_name: APPLICATION_NAME,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_DELAY_MS,
  });
  // Without this listener, a lost connection would end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
  } catch (error) {
    // Closes the socket of a server that does not respond.
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

/** Runs `work` with a new connection, and closes it. */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = await connect(url);
  try {
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** A database on a server. */
export type Place = { server: Server; database: string };

/** The maintenance database, which every server has. */
export const MAINTENANCE_DATABASE = "postgres";

/** Runs `work` in a database, as the server's superuser. */
export const onPlace = <T>({ server, database }: Place, work: (client: Client) => Promise<T>): Promise<T> =>
  withClient(urlOn(server, database), work);

/** Runs `work` in the server's maintenance database. */
export const onServer = <T>(server: Server, work: (client: Client) => Promise<T>): Promise<T> =>
  onPlace({ server, database: MAINTENANCE_DATABASE }, work);

/** Runs one statement with a new connection. Returns its rows. */
export function queryOnce<T extends object>(url: string, sql: string, values?: unknown[]): Promise<T[]> {
  return withClient(url, async (client) => (await client.query<T>(sql, values)).rows);
}

/** Returns an error's message. Errors of pg and of Node contain no password. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(messageOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}

const POLL_MS = 50;
const PROGRESS_MS = 2_000;
/** How long a stopped process of PostgreSQL may need to release what it holds. */
export const RELEASE_TIMEOUT_MS = 10_000;

/** Polls until `isDone` returns true. Returns false after the timeout. */
export async function waitUntil(
  isDone: () => Promise<boolean>,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isDone())) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Returns a function that reports a line of progress at most every PROGRESS_MS. */
export function createReporter(progress: (line: string) => void): (line: string) => void {
  let reportedAtMs = performance.now();
  return (line) => {
    if (performance.now() - reportedAtMs < PROGRESS_MS) return;
    reportedAtMs = performance.now();
    progress(line);
  };
}
