import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Config } from "../config.ts";
import { CliError } from "../errors.ts";
import { MIGRATED_SERVICES, migrateService } from "../local/migrate-service.ts";
import { APPLICATION_NAME, type Client, withClient } from "./connect.ts";
import { createExtensions, numberDatabase } from "./init.ts";
import { createState, type Move, onTarget, saveFence } from "./move-state.ts";
import { SCHEMAS, urlOn } from "./settings.ts";
import { formatBytes } from "./status.ts";
import { MAINTENANCE_DATABASE } from "./survey.ts";
import { readCounts } from "./usage.ts";

const POLL_MS = 50;
const PROGRESS_MS = 2_000;
/** The fence begins when the copy is at most this far behind. */
const MAX_LAG_BYTES = 1024 * 1024;
/** How long a stopped process of PostgreSQL may need to release what it holds. */
const RELEASE_TIMEOUT_MS = 10_000;

const id = pg.escapeIdentifier;

export const onServer = <T>(server: Move["source"], work: (client: Client) => Promise<T>): Promise<T> =>
  withClient(urlOn(server, MAINTENANCE_DATABASE), work);

const onSource = <T>({ source, live }: Move, work: (client: Client) => Promise<T>): Promise<T> =>
  withClient(urlOn(source, live), work);

/** Polls until `isDone` returns true. Returns false after the timeout. */
async function waitUntil(isDone: () => Promise<boolean>, timeoutMs = Number.POSITIVE_INFINITY): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isDone())) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Creates the empty copy, with the source's encoding, collation and extensions. */
export async function createCopy(move: Move): Promise<void> {
  const { settings, source, target, incoming, shard } = move;
  const { options, extensions } = await onSource(move, readDatabase);
  await onServer(target, async (client) => {
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [incoming]);
    if (rowCount === 0)
      await client.query(
        `CREATE DATABASE ${id(incoming)} OWNER ${id(settings.administrator.user)} TEMPLATE template0 ${options}`,
      );
    await numberDatabase(client, incoming, shard);
  });
  await onTarget(move, "incoming", async (client) => {
    await createState(client, source.name);
    await createExtensions(client, extensions);
  });
}

/** Returns the database's options for CREATE DATABASE, and its extensions. The columns of pg_database depend on PostgreSQL's version. */
async function readDatabase(client: Client): Promise<{ options: string; extensions: string[] }> {
  const { rows } = await client.query<{ encoding: string; row: Record<string, string | null>; extensions: string[] }>(
    `SELECT pg_encoding_to_char(encoding) AS encoding, to_jsonb(d) AS row,
            (SELECT coalesce(array_agg(extname::text), '{}') FROM pg_extension WHERE extname <> 'plpgsql') AS extensions
     FROM pg_database AS d WHERE datname = current_database()`,
  );
  const { encoding = "", row = {}, extensions = [] } = rows[0] ?? {};
  const provider = { c: "libc", i: "icu", b: "builtin" }[row.datlocprovider ?? "c"] ?? "libc";
  const locale = row.datlocale ?? row.daticulocale;
  const options: [string, string | null | undefined][] = [
    ["ENCODING", encoding],
    ["LC_COLLATE", row.datcollate],
    ["LC_CTYPE", row.datctype],
    ["LOCALE_PROVIDER", provider],
    [provider === "icu" ? "ICU_LOCALE" : "BUILTIN_LOCALE", provider === "libc" ? null : locale],
    ["ICU_RULES", row.daticurules],
  ];
  const given = options.flatMap(([name, value]) => (value ? [`${name} ${pg.escapeLiteral(value)}`] : []));
  return { options: given.join(" "), extensions };
}

/** Creates the roles and the schemas in the copy, with this version's migrations. Throws if the source has others. */
export async function migrateCopy(
  move: Move,
  {
    rolePasswords,
    migrationVariables,
    systemVariables,
  }: Pick<Config, "rolePasswords" | "migrationVariables" | "systemVariables">,
): Promise<void> {
  const { DATABASE_SHARDS: _, ...variables } = migrationVariables;
  for (const service of MIGRATED_SERVICES) {
    await migrateService(service, {
      databaseUrl: urlOn(move.target, move.incoming, move.settings.administrator),
      rolePassword: rolePasswords[service],
      migrationVariables: { ...variables, DATABASE_SHARD: move.live },
      systemVariables,
    });
  }
  await assertSchemasAreEqual(move);
  await assertRolesKeepAccess(move);
}

/** The migrations give access to one role of each service, not to a second one, nor to a role for reports. */
async function assertRolesKeepAccess(move: Move): Promise<void> {
  const roles = await onSource(move, listRoles);
  const copied = await onTarget(move, "incoming", listRoles);
  const missing = roles.filter((role) => !copied.includes(role));
  if (missing.length > 0)
    throw new CliError(
      `${missing.join(", ")} may use schemas of ${move.live}, and not of the copy: give the same privileges in ${move.incoming} on ${move.target.name}, and run this command again`,
    );
}

/** Lists the roles that may use the schemas, without the schemas' owners. */
async function listRoles(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ role: string }>(
    `SELECT DISTINCT rolname::text AS role
     FROM pg_namespace CROSS JOIN aclexplode(nspacl) AS privilege JOIN pg_roles AS r ON r.oid = privilege.grantee
     WHERE nspname = ANY ($1) AND r.oid <> nspowner ORDER BY role`,
    [SCHEMAS],
  );
  return rows.map(({ role }) => role);
}

async function assertSchemasAreEqual(move: Move): Promise<void> {
  const [source, copy] = [await onSource(move, listMigrations), await onTarget(move, "incoming", listMigrations)];
  if (source !== copy)
    throw new CliError(
      `${move.live} has the migrations ${source}, and this version has ${copy}: run parley migrate first`,
    );
}

async function listMigrations(client: Client): Promise<string> {
  const { rows } = await client.query<{ names: string }>(
    `SELECT string_agg(name, ', ' ORDER BY name) AS names FROM (
       ${SCHEMAS.map((schema) => `SELECT '${schema} ' || name AS name FROM ${schema}.migrations`).join(" UNION ALL ")}
     ) AS applied`,
  );
  return rows[0]?.names ?? "";
}

/** The tables of a shard, without those of the migrations. */
const LIST_TABLES = `
  SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables
  WHERE schemaname = ANY ($1) AND tablename NOT IN ('migrations', 'migrations_lock') ORDER BY name`;

/** Starts the replication from the source to the copy. */
export async function subscribe(move: Move): Promise<void> {
  const { replication } = move;
  const tables = await onSource(move, async (client) => {
    const { rows } = await client.query<{ name: string }>(LIST_TABLES, [SCHEMAS]);
    const names = rows.map(({ name }) => name).join(", ");
    const { rowCount } = await client.query("SELECT FROM pg_publication WHERE pubname = $1", [replication]);
    if (rowCount === 0) await client.query(`CREATE PUBLICATION ${id(replication)} FOR TABLE ${names}`);
    return names;
  });
  await onTarget(move, "incoming", async (client) => {
    if (await hasSubscription(client, replication)) return;
    // A killed run may have left slots.
    await dropSlots(move);
    // The migrations have inserted rows that the source has too.
    await client.query(`TRUNCATE ${tables}`);
    // The statement contains the source's password. The last two parameters belong to extensions that record statements.
    await client.query(
      `SET log_statement = 'none'; SET log_min_error_statement = 'panic'; SET log_min_duration_statement = -1;
       SET log_min_duration_sample = -1; SET log_transaction_sample_rate = 0;
       SET pg_stat_statements.track_utility = off; SET pgaudit.log = 'none'`,
    );
    await client.query(
      `CREATE SUBSCRIPTION ${id(replication)} CONNECTION ${pg.escapeLiteral(sourceConninfo(move))} PUBLICATION ${id(replication)}
       WITH (slot_name = ${pg.escapeLiteral(replication)}, disable_on_error = true)`,
    );
  });
}

async function hasSubscription(client: Client, name: string): Promise<boolean> {
  const { rowCount } = await client.query(
    "SELECT FROM pg_subscription WHERE subname = $1 AND subdbid = (SELECT oid FROM pg_database WHERE datname = current_database())",
    [name],
  );
  return rowCount !== 0;
}

/** Returns how the target's server reaches the source, for libpq. libpq cannot read the certificate files of this machine. */
function sourceConninfo({ source, live, replication }: Move): string {
  const { hostname, port, username, password, searchParams } = new URL(source.url);
  const usesTls = !["disable", null].includes(searchParams.get("sslmode"));
  const values = {
    host: decodeURIComponent(hostname),
    port: port || "5432",
    dbname: live,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    application_name: replication,
    connect_timeout: "10",
    ...(usesTls && { sslmode: "require" }),
  };
  return Object.entries(values)
    .map(([key, value]) => `${key}='${value.replace(/[\\']/g, "\\$&")}'`)
    .join(" ");
}

/** Drops the replication slots of the move: the subscription's, and those of tables whose copy did not end. */
async function dropSlots({ source, live, replication }: Move): Promise<void> {
  const ofMove = "database = $1 AND (slot_name = $2 OR slot_name ~ '^pg_[0-9]+_sync_[0-9]+_[0-9]+$')";
  await onServer(source, async (client) => {
    const areFree = async () => {
      const { rows } = await client.query(`SELECT FROM pg_replication_slots WHERE ${ofMove} AND active`, [
        live,
        replication,
      ]);
      return rows.length === 0;
    };
    await waitUntil(areFree, RELEASE_TIMEOUT_MS);
    await client.query(`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE ${ofMove}`, [
      live,
      replication,
    ]);
  });
}

/** Returns a function that reports a line of progress at most every PROGRESS_MS. */
function createReporter(progress: (line: string) => void): (line: string) => void {
  let reportedAtMs = performance.now();
  return (line) => {
    if (performance.now() - reportedAtMs < PROGRESS_MS) return;
    reportedAtMs = performance.now();
    progress(line);
  };
}

/** Waits until all tables are copied. */
export async function waitForCopy(move: Move, progress: (line: string) => void): Promise<void> {
  const report = createReporter(progress);
  await onTarget(move, "incoming", async (target) => {
    await waitUntil(async () => {
      const { ready, tables } = await readCopyProgress(target, move.replication);
      report(`${ready} of ${tables} tables copied`);
      return ready === tables;
    });
    // The planner would not know the copied rows otherwise.
    await target.query("ANALYZE");
  });
}

/** Waits until the copy is nearly up to date. */
export async function waitForLag(move: Move, progress: (line: string) => void): Promise<void> {
  const report = createReporter(progress);
  await onTarget(move, "incoming", (target) =>
    onServer(move.source, (source) =>
      waitUntil(async () => {
        await readCopyProgress(target, move.replication);
        const lag = await readLag(source, move.replication);
        report(`the copy is ${formatBytes(lag)} behind`);
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
  if (rows[0] === undefined)
    throw new CliError("the replication slot is gone: run this command with --cancel, and then again");
  return Number(rows[0].lag ?? Number.POSITIVE_INFINITY);
}

/** The sessions that begin to connect to the database $1. Each has this lock until it is in pg_stat_activity. */
const LIST_CONNECTING = `
  SELECT virtualtransaction AS id FROM pg_locks
  WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND objid = (SELECT oid FROM pg_database WHERE datname = $1)`;

/** Refuses new connections to the source's database, and ends those that exist. Superusers can still connect. */
export async function fence(move: Move): Promise<void> {
  await assertSchemasAreEqual(move);
  await saveFence(move, true);
  await onServer(move.source, async (client) => {
    await client.query(`ALTER DATABASE ${id(move.live)} CONNECTION LIMIT 0`);
    // These may have read the former limit.
    const { rows: connecting } = await client.query<{ id: string }>(LIST_CONNECTING, [move.live]);
    const areConnected = async () => {
      const { rowCount } = await client.query(`${LIST_CONNECTING} AND virtualtransaction = ANY ($2)`, [
        move.live,
        connecting.map((each) => each.id),
      ]);
      return rowCount === 0;
    };
    const endSessions = async () => {
      const { rowCount } = await client.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = $1 AND backend_type = 'client backend' AND application_name <> $2`,
        [move.live, APPLICATION_NAME],
      );
      return rowCount === 0;
    };
    const isEmpty =
      (await waitUntil(areConnected, RELEASE_TIMEOUT_MS)) && (await waitUntil(endSessions, RELEASE_TIMEOUT_MS));
    if (!isEmpty) throw new CliError(`sessions of ${move.live} do not end, or a superuser connects again and again`);
  });
}

/** Lets the source's database accept connections again. */
export async function liftFence(move: Move): Promise<void> {
  await onServer(move.source, (client) => client.query(`ALTER DATABASE ${id(move.live)} CONNECTION LIMIT -1`));
  await saveFence(move, false);
}

/** Waits until the copy has everything that was committed before the fence, copies the sequences and compares both databases. */
export async function catchUp(move: Move, timeoutMs: number): Promise<void> {
  await onSource(move, async (source) => {
    // Commits a message behind all other commits. Its commit waits until the log is on disk, so the replication can send it.
    await source.query("SET synchronous_commit = on");
    const { rows } = await source.query<{ lsn: string }>(
      "SELECT pg_logical_emit_message(true, 'parley', 'fenced')::text AS lsn",
    );
    const isReached = async () => {
      const { rowCount } = await source.query(
        "SELECT FROM pg_replication_slots WHERE slot_name = $1 AND confirmed_flush_lsn >= $2::pg_lsn",
        [move.replication, rows[0]?.lsn],
      );
      return rowCount !== 0;
    };
    if (!(await waitUntil(isReached, timeoutMs)))
      throw new CliError(`the copy was not up to date after ${timeoutMs / 1_000} s`);
    await onTarget(move, "incoming", async (target) => {
      await copySequences(source, target);
      const [expected, copied] = [await readCounts(source), await readCounts(target)];
      if (JSON.stringify(expected) !== JSON.stringify(copied))
        throw new CliError(`the copy differs: ${JSON.stringify(copied)} instead of ${JSON.stringify(expected)}`);
    });
  });
}

/** Logical replication does not copy the values of sequences. */
async function copySequences(source: Client, target: Client): Promise<void> {
  const { rows } = await source.query<{ name: string }>(
    "SELECT format('%I.%I', schemaname, sequencename) AS name FROM pg_sequences WHERE schemaname = ANY ($1)",
    [SCHEMAS],
  );
  for (const { name } of rows) {
    const { rows: values } = await source.query<{ last: string; called: boolean }>(
      `SELECT last_value::text AS last, is_called AS called FROM ${name}`,
    );
    await target.query("SELECT setval($1::regclass, $2::bigint, $3)", [name, values[0]?.last, values[0]?.called]);
  }
}

/** Ends the replication. The copy has everything, and the source is fenced. */
export async function detach(move: Move): Promise<void> {
  await onTarget(move, "incoming", (client) => dropSubscription(client, move.replication));
  await dropSlots(move);
  await onSource(move, (client) => client.query(`DROP PUBLICATION IF EXISTS ${id(move.replication)}`));
}

/** Drops the subscription if it exists, without its slots. With them, PostgreSQL refuses after a crash that left only one of the two. */
async function dropSubscription(client: Client, name: string): Promise<void> {
  if (!(await hasSubscription(client, name))) return;
  await client.query(`ALTER SUBSCRIPTION ${id(name)} DISABLE`);
  await client.query(`ALTER SUBSCRIPTION ${id(name)} SET (slot_name = NONE)`);
  await client.query(`DROP SUBSCRIPTION ${id(name)}`);
}

/** Gives the copy the shard's name, after it has taken the name from the source's database. So never two databases have it. */
export async function switchNames({ source, target, live, incoming, retired }: Move): Promise<void> {
  await onServer(source, async (client) => {
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1 AND datconnlimit <> 0", [live]);
    if (rowCount !== 0)
      throw new CliError(
        `somebody has opened ${live} on ${source.name} again, so the copy may lack rows: run this command with --cancel`,
      );
    await rename(client, live, retired);
  });
  await onServer(target, (client) => rename(client, incoming, live));
}

async function rename(client: Client, from: string, to: string): Promise<void> {
  const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [from]);
  if (rowCount === 0) return;
  // Superusers' sessions, such as those of monitoring. PostgreSQL then waits for 5 s until the last ones have ended.
  await client.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'",
    [from],
  );
  await client.query(`ALTER DATABASE ${id(from)} RENAME TO ${id(to)}`);
}

/** Undoes all steps before "switched": the source's database is then as before the move. */
export async function undo(move: Move, isFenced: boolean): Promise<void> {
  const { source, target, live, incoming, replication } = move;
  if (isFenced) await onServer(source, (client) => client.query(`ALTER DATABASE ${id(live)} CONNECTION LIMIT -1`));
  await onTarget(move, "incoming", (client) => dropSubscription(client, replication));
  await dropSlots(move);
  await onSource(move, (client) => client.query(`DROP PUBLICATION IF EXISTS ${id(replication)}`));
  await onServer(target, (client) => client.query(`DROP DATABASE ${id(incoming)} WITH (FORCE)`));
}

/** Ends the sessions of a killed run, which may still execute its last statement. */
export async function endFormerSessions({ source, target, live, incoming }: Move): Promise<void> {
  for (const server of [source, target]) {
    await onServer(server, async (client) => {
      const areGone = async () => {
        const { rowCount } = await client.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
           WHERE datname = ANY ($1) AND application_name = $2 AND pid <> pg_backend_pid()`,
          [[live, incoming], APPLICATION_NAME],
        );
        return rowCount === 0;
      };
      await waitUntil(areGone, RELEASE_TIMEOUT_MS);
    });
  }
}
