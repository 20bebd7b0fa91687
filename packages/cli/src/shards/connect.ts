import pg from "pg";

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

/** Runs one statement with a new connection. Returns its rows. */
export function queryOnce<T extends object>(url: string, sql: string, values?: unknown[]): Promise<T[]> {
  return withClient(url, async (client) => (await client.query<T>(sql, values)).rows);
}

/** Returns an error's message. Errors of pg and of Node contain no password. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(messageOf).join(", ");
  return error instanceof Error ? error.message : String(error);
}
