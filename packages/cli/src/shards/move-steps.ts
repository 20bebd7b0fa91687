import pg from "pg";
import type { Config } from "../config.ts";
import { CliError } from "../errors.ts";
import { MIGRATED_SERVICES, migrateService } from "../local/migrate-service.ts";
import { assertRolesKeepAccess, assertSchemasAreEqual, copySequences } from "./catalog.ts";
import { type Client, onPlace, onServer, type Place } from "./connect.ts";
import { fence, openFence, rename, renameFenced } from "./fence.ts";
import { createExtensions, numberDatabase } from "./init.ts";
import { catchUp, type Replication, replicationName, unsubscribe } from "./replication.ts";
import { databaseOf, type Server, type Settings, urlOn } from "./settings.ts";
import { createState, saveFence, saveStep } from "./state.ts";
import { compareCounts, listSmallTables, readCounts } from "./usage.ts";

/** The completed steps of a move, in order. */
export const STEPS = [
  "created",
  "migrated",
  "subscribed",
  "copied",
  "fenced",
  "caught up",
  "detached",
  "switched",
  "routed",
] as const;
export type Step = (typeof STEPS)[number];

export const STATE_SCHEMA = "parley_move";

/** A shard that moves from one server to another. */
export type Move = {
  settings: Settings;
  shard: number;
  source: Server;
  target: Server;
  /** The database that the router uses: on the source until the step "switched", and then on the target. */
  live: string;
  /** Its copy on the target before that step. */
  incoming: string;
  /** The database on the source after that step. */
  retired: string;
  replication: Replication;
};

export function createMove(settings: Settings, shard: number, source: Server, target: Server): Move {
  const live = databaseOf(settings, shard);
  const incoming = `${live}_incoming`;
  return {
    settings,
    shard,
    source,
    target,
    live,
    incoming,
    retired: `${live}_moved`,
    replication: {
      name: `${replicationName(live)}_move`,
      source: { server: source, database: live },
      target: { server: target, database: incoming },
    },
  };
}

/** The target's database after the step "switched". */
export const switchedPlace = ({ target, live }: Move): Place => ({ server: target, database: live });

export async function saveMoveStep(move: Move, step: Step): Promise<void> {
  const isSwitched = STEPS.indexOf(step) >= STEPS.indexOf("switched");
  await saveStep(isSwitched ? switchedPlace(move) : move.replication.target, STATE_SCHEMA, step);
}

/** Creates the empty copy, with the source's encoding, collation and extensions. */
export async function createCopy(move: Move, placements: readonly string[]): Promise<void> {
  const { settings, source, target, incoming, shard, replication } = move;
  const { options, extensions } = await onPlace(replication.source, readDatabase);
  await onServer(target, async (client) => {
    const { rowCount } = await client.query("SELECT FROM pg_database WHERE datname = $1", [incoming]);
    if (rowCount === 0)
      await client.query(
        `CREATE DATABASE ${pg.escapeIdentifier(incoming)} OWNER ${pg.escapeIdentifier(settings.administrator.user)} TEMPLATE template0 ${options}`,
      );
    await numberDatabase(client, incoming, shard);
  });
  await onPlace(replication.target, async (client) => {
    await createState(client, STATE_SCHEMA, { source: source.name, placements });
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
  const { source, target } = move.replication;
  await assertSchemasAreEqual(source, target);
  await assertRolesKeepAccess(source, target);
}

/** Refuses new connections to the source's database, and ends those that exist. Superusers can still connect. */
export async function fenceSource({ replication: { source, target } }: Move): Promise<void> {
  await assertSchemasAreEqual(source, target);
  await saveFence(target, STATE_SCHEMA, true);
  await fence(source);
}

/** Lets the source's database accept connections again. */
export async function liftFence({ replication: { source, target } }: Move): Promise<void> {
  await openFence(source);
  await saveFence(target, STATE_SCHEMA, false);
}

/** Waits until the copy has everything that was committed before the fence, copies the sequences and compares both databases. */
export async function completeCopy({ replication }: Move, timeoutMs: number): Promise<void> {
  await catchUp([replication], timeoutMs);
  await onPlace(replication.source, (source) =>
    onPlace(replication.target, async (target) => {
      await copySequences(source, target);
      const tables = await listSmallTables(source);
      const differences = compareCounts(await readCounts(source, tables), await readCounts(target, tables));
      if (differences.length > 0) throw new CliError(`the copy differs: ${differences.join(", ")}`);
    }),
  );
}

/** Gives the copy the shard's name, after it has taken the name from the source's database. So never two databases have it. */
export async function switchNames({ target, live, incoming, retired, replication }: Move): Promise<void> {
  await renameFenced(replication.source, retired);
  await onServer(target, (client) => rename(client, incoming, live));
}

/** Undoes all steps before "switched": the source's database is then as before the move. */
export async function undo({ target, incoming, replication }: Move, isFenced: boolean): Promise<void> {
  if (isFenced) await openFence(replication.source);
  await unsubscribe(replication);
  await onServer(target, (client) => client.query(`DROP DATABASE ${pg.escapeIdentifier(incoming)} WITH (FORCE)`));
}
