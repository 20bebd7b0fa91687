import pg from "pg";
import { CliError } from "../errors.ts";
import { describePrepared } from "./catalog.ts";
import { APPLICATION_NAME, type Client, onServer, type Place, RELEASE_TIMEOUT_MS, waitUntil } from "./connect.ts";

const id = pg.escapeIdentifier;

/** The sessions that begin to connect to the database $1. Each has this lock until it is in pg_stat_activity. */
const LIST_CONNECTING = `
  SELECT virtualtransaction AS id FROM pg_locks
  WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND objid = (SELECT oid FROM pg_database WHERE datname = $1)`;

/** Refuses new connections to a database, and ends those that exist. Superusers can still connect. */
export async function fence({ server, database }: Place): Promise<void> {
  await onServer(server, async (client) => {
    await client.query(`ALTER DATABASE ${id(database)} CONNECTION LIMIT 0`);
    // These may have read the former limit.
    const { rows: connecting } = await client.query<{ id: string }>(LIST_CONNECTING, [database]);
    const areConnected = async () => {
      const { rowCount } = await client.query(`${LIST_CONNECTING} AND virtualtransaction = ANY ($2)`, [
        database,
        connecting.map((each) => each.id),
      ]);
      return rowCount === 0;
    };
    const endSessions = async () => {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = $1 AND backend_type = 'client backend' AND application_name <> $2`,
        [database, APPLICATION_NAME],
      );
      return rowCount === 0;
    };
    const isEmpty =
      (await waitUntil(areConnected, RELEASE_TIMEOUT_MS)) && (await waitUntil(endSessions, RELEASE_TIMEOUT_MS));
    if (!isEmpty) throw new CliError(`sessions of ${database} do not end, or a superuser connects again and again`);
    const prepared = await listPrepared(client, database);
    if (prepared.length > 0) throw new CliError(describePrepared(prepared));
  });
}

async function listPrepared(client: Client, database: string): Promise<string[]> {
  const { rows } = await client.query<{ gid: string }>("SELECT gid FROM pg_prepared_xacts WHERE database = $1", [
    database,
  ]);
  return rows.map(({ gid }) => gid);
}

/** Lets a database accept connections again. */
export async function openFence({ server, database }: Place): Promise<void> {
  await onServer(server, (client) => client.query(`ALTER DATABASE ${id(database)} CONNECTION LIMIT -1`));
}

/** Renames a fenced database, unless it has been renamed. Throws if somebody has opened it again, because its copy may then lack rows. */
export async function renameFenced({ server, database }: Place, to: string): Promise<void> {
  await onServer(server, async (client) => {
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1 AND datconnlimit <> 0", [
      database,
    ]);
    if (rowCount !== 0)
      throw new CliError(
        `somebody has opened ${database} on ${server.name} again, so the copy may lack rows: run this command with --cancel`,
      );
    await rename(client, database, to);
  });
}

/** Renames a database, unless it has been renamed. */
export async function rename(client: Client, from: string, to: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [from]);
  if (rowCount === 0) return;
  // Superusers' sessions, such as those of monitoring. PostgreSQL then waits for 5 s until the last ones have ended.
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
    [from],
  );
  await client.query(`ALTER DATABASE ${id(from)} RENAME TO ${id(to)}`);
}
