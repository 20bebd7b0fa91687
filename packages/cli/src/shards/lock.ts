import { CliError } from "../errors.ts";
import { APPLICATION_NAME, onServer, type Place, RELEASE_TIMEOUT_MS, waitUntil } from "./connect.ts";
import type { Server } from "./settings.ts";

/** Throws if the lock's connection is lost: another process may have the lock then. */
export type AssertLocked = () => Promise<void>;

/** Runs `work` while no other process moves a database of this name from or to the server. `work` must call `assertLocked` before each step. */
export function withLock<T>(
  server: Server,
  database: string,
  work: (assertLocked: AssertLocked) => Promise<T>,
): Promise<T> {
  return onServer(server, async (client) => {
    const { rows } = await client.query<{ isLocked: boolean }>(
      `SELECT pg_try_advisory_lock(hashtext($1)) AS "isLocked"`,
      [`parley.move ${database}`],
    );
    if (!rows[0]?.isLocked) throw new CliError(`another process is moving ${database}`);
    return work(async () => {
      try {
        await client.query("SELECT 1");
      } catch (error) {
        throw new CliError(
          `the connection that holds the lock of ${database} on ${server.name} was lost: run this command again`,
          { cause: error },
        );
      }
    });
  });
}

/** Ends the sessions that a killed run has in these databases, which may still execute its last statement. */
export async function endFormerSessions(places: readonly Place[]): Promise<void> {
  for (const { server, database } of places) {
    await onServer(server, async (client) => {
      const areGone = async () => {
        const { rowCount } = await client.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = $1 AND application_name = $2 AND pid <> pg_backend_pid()`,
          [database, APPLICATION_NAME],
        );
        return rowCount === 0;
      };
      await waitUntil(areGone, RELEASE_TIMEOUT_MS);
    });
  }
}
