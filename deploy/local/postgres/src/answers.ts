import { Client, DatabaseError } from "pg";
import { LocalPostgresError } from "./errors.ts";

export const superuser = "postgres";

/**
 * What the server at this URL says to us: `ready`; `rejected`, our password is not its own; `foreign`, it serves
 * another data directory; `away`, nobody answers yet.
 */
export type Answer = "ready" | "rejected" | "foreign" | "away";

/** Asks once, at most two seconds. */
export async function askServer(url: string, dataDir: string): Promise<Answer> {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 2_000 });
  // A server that goes away between two steps speaks through the step that fails.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ data_directory: string }>("SHOW data_directory");
    return rows[0]?.data_directory === dataDir ? "ready" : "foreign";
  } catch (error) {
    const isPasswordWrong = error instanceof DatabaseError && error.code === "28P01";
    return isPasswordWrong ? "rejected" : "away";
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** The superuser's URL of the database `postgres`. */
export function superuserUrl(port: number, password: string): string {
  return `postgres://${superuser}:${encodeURIComponent(password)}@127.0.0.1:${port}/postgres`;
}

export function passwordRejected(dataDir: string): LocalPostgresError {
  return new LocalPostgresError(
    "password_rejected",
    `The database in ${dataDir} was made with another password: bring that password back, or remove the directory to begin anew (its data is lost).`,
  );
}
