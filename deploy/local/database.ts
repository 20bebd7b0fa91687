import { Client, DatabaseError } from "pg";
import { StartError, systemCode } from "./errors.ts";

export type Database = {
  /** An administrator's URL; holds a password. */
  url: string;
  /** What it is and where, fit to be shown. */
  description: string;
  /** Where the embedded server keeps its data; undefined for one that is not ours. */
  dataDir?: string;
  /** Ends the embedded server; leaves one that is not ours alone. */
  stop: () => Promise<void>;
  /** As stop, without waiting. */
  abandon: () => void;
};

const CONNECT_TIMEOUT_MS = 5_000;

/** The server that DATABASE_URL names, once it has answered. Throws StartError; never shows the URL's password. */
export async function useGiven(url: string): Promise<Database> {
  const nothing = { stop: () => Promise.resolve(), abandon: () => undefined };
  try {
    return await withClient(url, async (client) => {
      const version = await readVersion(client);
      return { url, description: `PostgreSQL ${version} at ${placeOf(client)}`, ...nothing };
    });
  } catch (cause) {
    throw new StartError(`cannot use DATABASE_URL: ${explain(cause)}`, { cause });
  }
}

/** The same database as a service's own role. */
export function urlAs(adminUrl: string, role: string, password: string): string {
  const url = new URL(adminUrl);
  // Parameters win over the user and password before the host.
  url.searchParams.delete("user");
  url.searchParams.delete("password");
  // Written out, since a URL without a host (a socket's) takes no user.
  return `${url.protocol}//${role}:${encodeURIComponent(password)}@${url.host}${url.pathname}${url.search}`;
}

/** Such as `18.4`. */
export async function readVersion(client: Client): Promise<string> {
  const { rows } = await client.query<{ server_version: string }>("SHOW server_version");
  return rows[0]?.server_version.split(" ")[0] ?? "";
}

/** A connection for as long as `work` takes. */
export async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({
    connectionString: url,
    application_name: "parley-start",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: CONNECT_TIMEOUT_MS,
  });
  // A connection that breaks speaks through the query that fails.
  client.on("error", () => undefined);
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function placeOf({ host, port, database }: Client): string {
  return `${host}:${port}/${database}`;
}

function explain(error: unknown): string {
  if (error instanceof DatabaseError) {
    switch (error.code) {
      case "28P01":
      case "28000":
        return "the server refuses its user or password";
      case "3D000":
        return "the server has no such database: create it first";
      default:
        return `the server says "${error.message}"`;
    }
  }
  switch (systemCode(error)) {
    case "ECONNREFUSED":
      return "nothing listens there: start that server, or unset DATABASE_URL for the embedded one";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "its host is not known: correct it, or unset DATABASE_URL for the embedded database";
    default:
      return `no PostgreSQL answers there (${error instanceof Error && error.message ? error.message : "unknown reason"})`;
  }
}
