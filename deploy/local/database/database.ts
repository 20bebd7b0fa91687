import { Client, DatabaseError } from "pg";
import { StartError, systemCode } from "../errors.ts";

export type Database = {
  /** An administrator's URL, with the password. */
  url: string;
  /** The version and address, without secrets. */
  description: string;
  /** The data directory of the embedded server; undefined for a server from DATABASE_URL. */
  dataDir?: string;
  /** Stops the embedded server. Does nothing for a server from DATABASE_URL. */
  stop: () => Promise<void>;
  /** Same as stop, without waiting. */
  stopNow: () => void;
};

/**
 * Limit of a connection attempt and of a statement. It is long because this process also builds the console, which blocks the event loop for
 * several seconds on a busy machine.
 */
const TIMEOUT_MS = 30_000;

/** Connects once to the database of DATABASE_URL to check it. If the connection fails, throws a StartError whose message omits the password. */
export async function openExternalDatabase(url: string): Promise<Database> {
  const noCleanup = { stop: () => Promise.resolve(), stopNow: () => undefined };
  try {
    return await withClient(url, async (client) => {
      const version = await readVersion(client);
      return { url, description: `PostgreSQL ${version} at ${addressOf(client)}`, ...noCleanup };
    });
  } catch (cause) {
    throw new StartError(`cannot use DATABASE_URL: ${describeFailure(cause)}`, { cause });
  }
}

/** Returns the URL with which `role` connects to the database of `adminUrl`. */
export function urlForRole(adminUrl: string, role: string, password: string): string {
  const url = new URL(adminUrl);
  // pg prefers these query parameters to the user and password before the host.
  url.searchParams.delete("user");
  url.searchParams.delete("password");
  // The URL class cannot set the user of a URL without a host, such as a socket URL.
  return `${url.protocol}//${role}:${encodeURIComponent(password)}@${url.host}${url.pathname}${url.search}`;
}

/** Returns the server version, such as `18.4`. */
export async function readVersion(client: Client): Promise<string> {
  const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
  return rows[0]?.server_version.split(" ")[0] ?? "";
}

export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: url,
    application_name: "parley-start",
    connectionTimeoutMillis: TIMEOUT_MS,
    statement_timeout: TIMEOUT_MS,
  });
  // Ignores a broken connection here, because the current query then fails and reports it.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function addressOf({ host, port, database }: Client): string {
  return `${host}:${port}/${database}`;
}

function describeFailure(error: unknown): string {
  if (error instanceof DatabaseError) {
    switch (error.code) {
      case "28P01":
        return "the server refuses the user or password: correct them";
      case "3D000":
        return "the database does not exist: create it first";
      default:
        return `the server reported "${error.message}"`;
    }
  }
  switch (systemCode(error)) {
    case "ECONNREFUSED":
      return "nothing listens at its address: start the server, or unset DATABASE_URL for the embedded database";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "its host name does not resolve: correct it, or unset DATABASE_URL for the embedded database";
    default:
      return `no PostgreSQL server responds at its address (${error instanceof Error && error.message ? error.message : "unknown reason"})`;
  }
}
