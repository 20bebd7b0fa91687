import pg from "pg";
import { CliError } from "../errors.ts";
import { listTables, type Table } from "./catalog.ts";
import {
  type Client,
  createReporter,
  onPlace,
  onServer,
  type Place,
  RELEASE_TIMEOUT_MS,
  waitUntil,
} from "./connect.ts";
import { addressOf } from "./settings.ts";
import { formatBytes } from "./status.ts";

/** Logical replication from one database to another. */
export type Replication = {
  /** The name of the publication, the subscription and the replication slot: lower-case letters, digits and underscores. */
  name: string;
  source: Place;
  target: Place;
  /** Returns the condition on a table's replicated rows; undefined for all rows. It may use only columns of the primary key. */
  rowsOf?: (table: Table) => string | undefined;
};

/** The copy is nearly up to date when it is at most this far behind. */
const MAX_LAG_BYTES = 1024 * 1024;

const id = pg.escapeIdentifier;

/** The name of a slot, a publication or a subscription that belongs to a database. */
export const replicationName = (text: string) => text.toLowerCase().replace(/[^a-z0-9_]/g, "_");

/** Starts the replication, unless it has begun. The target has the source's tables; their rows are deleted. */
export async function subscribe(replication: Replication): Promise<void> {
  const { name, source, target } = replication;
  const tables = await onPlace(source, (client) => publish(client, replication));
  await onPlace(target, async (client) => {
    if ((await findSubscription(client, name)) !== undefined) return;
    // A killed run may have left slots.
    await dropSlots(replication);
    // The migrations have inserted rows that the source has too.
    await client.query(`TRUNCATE ${tables.map((table) => table.name).join(", ")}`);
    // A subscription to a database of the same server could not create its own slot: it would wait for itself.
    await onPlace(source, (inSource) =>
      inSource.query("SELECT pg_create_logical_replication_slot($1, 'pgoutput')", [name]),
    );
    // The statement contains the source's password. The last two parameters belong to extensions that record statements.
    await client.query(
      `SET log_statement = 'none'; SET log_min_error_statement = 'panic'; SET log_min_duration_statement = -1;
       SET log_min_duration_sample = -1; SET log_transaction_sample_rate = 0;
       SET pg_stat_statements.track_utility = off; SET pgaudit.log = 'none'`,
    );
    await client.query(
      `CREATE SUBSCRIPTION ${id(name)} CONNECTION ${pg.escapeLiteral(createConninfo(source, name))} PUBLICATION ${id(name)}
       WITH (slot_name = ${pg.escapeLiteral(name)}, create_slot = false, disable_on_error = true)`,
    );
  });
}

/** Creates the publication unless it exists. Returns its tables. */
async function publish(client: Client, { name, rowsOf }: Replication): Promise<Table[]> {
  const tables = await listTables(client);
  const { rowCount } = await client.query("SELECT FROM pg_publication WHERE pubname = $1", [name]);
  if (rowCount !== 0) return tables;
  const published = tables.map((table) => {
    const condition = rowsOf?.(table);
    return condition === undefined ? table.name : `${table.name} WHERE (${condition})`;
  });
  await client.query(`CREATE PUBLICATION ${id(name)} FOR TABLE ${published.join(", ")}`);
  return tables;
}

/** Returns how a server reaches the source, for libpq. libpq cannot read the certificate files of this machine. */
export function createConninfo({ server, database }: Place, applicationName: string): string {
  const { username, password, searchParams } = new URL(server.url);
  const { host, port } = addressOf(server);
  const usesTls = !["disable", null].includes(searchParams.get("sslmode"));
  const values = {
    host,
    port: String(port),
    dbname: database,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    application_name: applicationName,
    connect_timeout: "10",
    ...(usesTls && { sslmode: "require" }),
  };
  return Object.entries(values)
    .map(([key, value]) => `${key}='${value.replace(/[\\']/g, "\\$&")}'`)
    .join(" ");
}

/** Waits until all tables are copied. */
export async function waitForCopy(
  { name, target }: Replication,
  progress: (line: string) => void,
  assertLocked: () => Promise<void>,
): Promise<void> {
  const report = createReporter(progress);
  await onPlace(target, async (client) => {
    await waitUntil(async () => {
      await assertLocked();
      const { ready, tables } = await readCopyProgress(client, name);
      report(`${target.database}: ${ready} of ${tables} tables copied`);
      return ready === tables;
    });
    // The planner would not know the copied rows otherwise.
    await client.query("ANALYZE");
  });
}

/** Waits until the copy is nearly up to date. */
export async function waitForLag(
  { name, source, target }: Replication,
  progress: (line: string) => void,
  assertLocked: () => Promise<void>,
): Promise<void> {
  const report = createReporter(progress);
  await onPlace(target, (inTarget) =>
    onServer(source.server, (onSource) =>
      waitUntil(async () => {
        await assertLocked();
        await readCopyProgress(inTarget, name);
        const lag = await readLag(onSource, name);
        report(`${target.database} is ${formatBytes(lag)} behind`);
        return lag <= MAX_LAG_BYTES;
      }),
    ),
  );
}

async function readCopyProgress(client: Client, name: string): Promise<{ ready: number; tables: number }> {
  const { rows } = await client.query<{ enabled: boolean; ready: number; tables: number }>(
    `SELECT subenabled AS enabled, (SELECT count(*) FROM pg_subscription_rel WHERE srsubid = s.oid)::integer AS tables,
            (SELECT count(*) FROM pg_subscription_rel WHERE srsubid = s.oid AND srsubstate = 'r')::integer AS ready
     FROM pg_subscription AS s
     WHERE subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [name],
  );
  const [row] = rows;
  if (row === undefined) throw new CliError("the subscription is gone: run this command with --cancel, and then again");
  if (!row.enabled)
    throw new CliError(
      "the replication failed; the target's log has the reason: correct it, run this command with --cancel, and then again",
    );
  return row;
}

async function readLag(source: Client, slot: string): Promise<number> {
  const { rows } = await source.query<{ lag: string | null }>(
    "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn) AS lag FROM pg_replication_slots WHERE slot_name = $1",
    [slot],
  );
  if (rows[0] === undefined) throw slotIsGone(slot);
  return Number(rows[0].lag ?? Number.POSITIVE_INFINITY);
}

const slotIsGone = (slot: string) =>
  new CliError(`the replication slot ${slot} is gone: run this command with --cancel, and then again`);

/**
 * Waits until the copies have everything that was committed before this call. All have the same source. Throws after the timeout, or at once if a
 * replication has failed.
 */
export async function catchUp(replications: readonly Replication[], timeoutMs: number): Promise<void> {
  const [first] = replications;
  if (first === undefined) return;
  const deadline = performance.now() + timeoutMs;
  await onPlace(first.source, async (source) => {
    // Commits a message behind all other commits. Its commit waits until the log is on disk, so the replication can send it.
    await source.query("SET synchronous_commit = on");
    const { rows } = await source.query<{ lsn: string }>(
      "SELECT pg_logical_emit_message(true, 'parley', 'fenced')::text AS lsn",
    );
    for (const { name, target } of replications) {
      await onPlace(target, async (client) => {
        const isReached = async () => {
          const { rows: slots } = await source.query<{ isReached: boolean }>(
            `SELECT coalesce(confirmed_flush_lsn >= $2::pg_lsn, false) AS "isReached" FROM pg_replication_slots WHERE slot_name = $1`,
            [name, rows[0]?.lsn],
          );
          if (slots[0] === undefined) throw slotIsGone(name);
          if (slots[0].isReached) return true;
          await readCopyProgress(client, name);
          return false;
        };
        if (!(await waitUntil(isReached, Math.max(0, deadline - performance.now()))))
          throw new CliError(`${target.database} was not up to date after ${timeoutMs / 1_000} s`);
      });
    }
  });
}

/** Ends the replication. It may have ended, or not begun. */
export async function unsubscribe(replication: Replication): Promise<void> {
  const { name, source, target } = replication;
  await onPlace(target, (client) => dropSubscription(client, name));
  await dropSlots(replication);
  await onPlace(source, (client) => client.query(`DROP PUBLICATION IF EXISTS ${id(name)}`));
}

/** Returns the subscription's oid in the current database; undefined if there is none. */
async function findSubscription(client: Client, name: string): Promise<string | undefined> {
  const { rows } = await client.query<{ oid: string }>(
    "SELECT oid::text AS oid FROM pg_subscription WHERE subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
    [name],
  );
  return rows[0]?.oid;
}

/** Drops the subscription if it exists, without its slots. With them, PostgreSQL refuses after a crash that left only one of the two. */
async function dropSubscription(client: Client, name: string): Promise<void> {
  if ((await findSubscription(client, name)) === undefined) return;
  await client.query(`ALTER SUBSCRIPTION ${id(name)} DISABLE`);
  await client.query(`ALTER SUBSCRIPTION ${id(name)} SET (slot_name = NONE)`);
  await client.query(`DROP SUBSCRIPTION ${id(name)}`);
}

/**
 * Drops the slots of a replication without a subscription: its own, and those of tables whose copy did not end. PostgreSQL names the latter after the
 * subscription's oid, the table's and the target server's identifier. Leaves alone the slots of other servers and of subscriptions that exist.
 */
async function dropSlots({ name, source, target }: Replication): Promise<void> {
  const { identifier, subscriptions } = await onServer(target.server, async (client) => {
    const { rows } = await client.query<{ identifier: string; subscriptions: string[] }>(
      `SELECT (SELECT system_identifier FROM pg_control_system())::text AS identifier,
              (SELECT coalesce(array_agg(oid::text), '{}') FROM pg_subscription) AS subscriptions`,
    );
    return rows[0] ?? { identifier: "", subscriptions: [] };
  });
  const ofReplication = `database = $1 AND (slot_name = $2 OR
    (slot_name ~ ('^pg_[0-9]+_sync_[0-9]+_' || $3 || '$') AND split_part(slot_name, '_', 2) <> ALL ($4::text[])))`;
  const values = [source.database, name, identifier, subscriptions];
  await onServer(source.server, async (client) => {
    const areFree = async () => {
      const { rowCount } = await client.query(
        `SELECT FROM pg_replication_slots WHERE ${ofReplication} AND active`,
        values,
      );
      return rowCount === 0;
    };
    await waitUntil(areFree, RELEASE_TIMEOUT_MS);
    await client.query(
      `SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE ${ofReplication}`,
      values,
    );
  });
}
