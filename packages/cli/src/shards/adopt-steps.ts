import pg from "pg";
import { CliError } from "../errors.ts";
import { copySequences, listTables } from "./catalog.ts";
import { type Client, onPlace, type Place } from "./connect.ts";
import { fence, openFence } from "./fence.ts";
import { catchUp, type Replication, replicationName, subscribe, unsubscribe } from "./replication.ts";
import { databaseOf, type Server, type Settings } from "./settings.ts";
import { createState, dropState, saveFence } from "./state.ts";
import type { Placement } from "./survey.ts";
import { type Counts, compareCounts, countRows, listSmallTables, readCounts } from "./usage.ts";

/** The completed steps of an adoption, in order. */
export const STEPS = ["subscribed", "copied", "fenced", "caught up", "detached", "switched", "reloaded"] as const;
export type Step = (typeof STEPS)[number];

export const STATE_SCHEMA = "parley_adopt";

/** A single database whose rows become those of the shards. */
export type Adoption = {
  settings: Settings;
  source: Place;
  /** The name of the single database after the step "switched". */
  retired: string;
  /** The database of shard 0, which has the state. */
  statePlace: Place;
  /** One for each shard, in the order of the shards. */
  replications: readonly Replication[];
};

/**
 * SQL for the shard of a row: the remainder of PostgreSQL's hash partition for the column, which is also the router's. The condition of a publication
 * may use only functions of PostgreSQL, so it cannot ask the router. assertRouterAgrees compares both.
 */
export const shardSql = (shardCount: number) =>
  `mod(mod(hashtextextended(workspace_id, 8816678312871386365)::numeric + 5305509591434766563 + 18446744073709551616, 18446744073709551616), ${shardCount})`;

export function createAdoption(settings: Settings, from: Server, placements: readonly Placement[]): Adoption {
  const source = { server: from, database: settings.database };
  const replications = placements.map(({ shard, server }) => ({
    name: `${replicationName(databaseOf(settings, shard))}_adopt`,
    source,
    target: { server, database: databaseOf(settings, shard) },
    rowsOf: ({ hasKey }: { hasKey: boolean }) => (hasKey ? `${shardSql(settings.shardCount)} = ${shard}` : undefined),
  }));
  const [first] = replications;
  if (first === undefined) throw new CliError("there is no shard");
  return { settings, source, retired: `${settings.database}_adopted`, statePlace: first.target, replications };
}

export async function subscribeAll({ replications, statePlace, source }: Adoption): Promise<void> {
  const placements = replications.map(({ target }) => target.server.name);
  await onPlace(statePlace, (client) => createState(client, STATE_SCHEMA, { source: source.server.name, placements }));
  for (const replication of replications) await subscribe(replication);
}

/** Refuses new connections to the single database, and ends those that exist. Superusers can still connect. */
export async function fenceAll({ source, statePlace }: Adoption): Promise<void> {
  await saveFence(statePlace, STATE_SCHEMA, true);
  await fence(source);
}

/** Lets the single database accept connections again. */
export async function liftFence({ source, statePlace }: Adoption): Promise<void> {
  await openFence(source);
  await saveFence(statePlace, STATE_SCHEMA, false);
}

/** Waits until the shards have everything that was committed before the fence, and compares them with the single database. */
export async function completeCopies({ source, replications, statePlace }: Adoption, timeoutMs: number): Promise<void> {
  await catchUp(replications, timeoutMs);
  await onPlace(source, async (client) => {
    // The ids of the other shards begin above those of shard 0.
    await onPlace(statePlace, (target) => copySequences(client, target));
    const small = await listSmallTables(client);
    const keyed = small.filter(({ hasKey }) => hasKey);
    const common = small.filter(({ hasKey }) => !hasKey);
    const expected = await readCounts(client, keyed);
    const expectedOfEach = await countRows(client, common);
    const sums: Record<string, number> = {};
    const differences: string[] = [];
    for (const { target } of replications) {
      await onPlace(target, async (shard) => {
        addCounts(sums, await readCounts(shard, keyed));
        const found = compareCounts(expectedOfEach, await countRows(shard, common));
        differences.push(...found.map((each) => `${target.database}: ${each}`));
      });
    }
    differences.push(...compareCounts(expected, sums));
    if (differences.length > 0) throw new CliError(`the shards differ: ${differences.join(", ")}`);
  });
}

function addCounts(sums: Record<string, number>, counts: Counts): void {
  for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count;
}

export async function unsubscribeAll({ replications }: Adoption): Promise<void> {
  for (const replication of replications) await unsubscribe(replication);
}

/** Undoes all steps before "switched". The single database is as before; the shards are empty. */
export async function undo(adoption: Adoption, isFenced: boolean): Promise<void> {
  if (isFenced) await openFence(adoption.source);
  await unsubscribeAll(adoption);
  for (const { target } of adoption.replications) {
    await onPlace(target, async (client) => {
      const tables = await listTables(client);
      await client.query(`TRUNCATE ${tables.map(({ name }) => name).join(", ")}`);
    });
  }
  await onPlace(adoption.statePlace, (client) => dropState(client, STATE_SCHEMA));
}

/** Throws if the router sends a workspace of the single database to another shard than its rows. Adds the workspaces to `known`, and asks for no known one. */
export async function assertRouterAgrees(
  { settings, source }: Adoption,
  router: Client,
  known: Set<string>,
): Promise<void> {
  const { rows } = await onPlace(source, (client) =>
    client.query<{ id: string; shard: string }>(
      `SELECT workspace_id AS id, ${shardSql(settings.shardCount)}::text AS shard FROM quota.workspaces WHERE workspace_id <> ALL ($1::text[])`,
      [[...known]],
    ),
  );
  for (const { id, shard } of rows) {
    const found = await findRoutedShard(router, id);
    if (found !== shard)
      throw new CliError(
        `the router sends workspace ${id} to shard ${found ?? "without number"}, and PostgreSQL's hash is shard ${shard}: this router cannot adopt a database`,
      );
    known.add(id);
  }
}

/** Returns the number of the shard to which the router sends a workspace's statements, as text. */
export async function findRoutedShard(router: Client, workspaceId: string): Promise<string | null> {
  const { rows } = await router.query<{ number: string | null }>(
    "SELECT current_setting('parley.shard', true) AS number FROM quota.workspaces WHERE workspace_id = $1 HAVING true",
    [workspaceId],
  );
  return rows[0]?.number ?? null;
}

/** Returns why a single database and its shards do not fit. */
export async function findAdoptionProblems({ source, replications }: Adoption): Promise<string[]> {
  const { tables, extensions } = await onPlace(source, async (client) => ({
    tables: await listTables(client),
    extensions: await listExtensions(client),
  }));
  // Publishing such a table would make its updates fail.
  const unfit = tables.filter(({ hasKey, isKeyPrimary }) => hasKey && !isKeyPrimary).map(({ name }) => name);
  const problems = unfit.length === 0 ? [] : [`tables whose primary key lacks workspace_id: ${unfit.join(", ")}`];
  for (const { target } of replications) {
    await onPlace(target, async (client) => {
      const { rowCount } = await client.query("SELECT FROM quota.workspaces LIMIT 1");
      if (rowCount !== 0) problems.push(`${target.database} has workspaces: the shards must be empty`);
      const own = await listExtensions(client);
      const missing = extensions.filter((name) => !own.includes(name)).map((name) => pg.escapeIdentifier(name));
      if (missing.length > 0) problems.push(`${target.database} lacks the extensions ${missing.join(", ")}`);
    });
  }
  return problems;
}

async function listExtensions(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>("SELECT extname::text AS name FROM pg_extension ORDER BY 1");
  return rows.map(({ name }) => name);
}
