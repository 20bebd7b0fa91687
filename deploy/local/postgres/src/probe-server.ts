import { Client, DatabaseError } from "pg";
import { LocalPostgresError } from "./errors.ts";

export const SUPERUSER = "postgres";

/**
 * The state of the server at a URL: `ready`; `rejected` when it refuses the password; `other_data_dir` when it serves another data directory;
 * `unreachable` when the connection or the query fails for another reason, for example while the server starts.
 */
export type ServerState = "ready" | "rejected" | "other_data_dir" | "unreachable";

/** Waits up to 2 s for the connection, and up to 2 s for the query. */
export async function probeServer(url: string, dataDir: string): Promise<ServerState> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  // A lost connection rejects the pending call. Without a listener, it would also end the process.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>("SHOW data_directory");
    return rows[0]?.data_directory === dataDir ? "ready" : "other_data_dir";
  } catch (error) {
    const isPasswordWrong = error instanceof DatabaseError && error.code === "28P01";
    return isPasswordWrong ? "rejected" : "unreachable";
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Returns the URL with which the superuser connects to the database `postgres`. */
export function superuserUrl(port: number, password: string): string {
  return `postgres://${SUPERUSER}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
}

export function passwordRejectedError(dataDir: string): LocalPostgresError {
  return new LocalPostgresError(
    "password_rejected",
    `The database in ${dataDir} was created with another password: restore that password, or delete the directory to start afresh (its data is lost).`,
  );
}
