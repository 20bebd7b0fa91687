import { IDS_PER_SHARD, urlOfShard } from "@parley/service-kit/migrations";
import pg from "pg";
import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import { findRoutedShard } from "./adopt-steps.ts";
import { type Client, connect, messageOf, queryOnce, withClient } from "./connect.ts";
import { firstIdOf } from "./plan.ts";
import { databaseOf, routerUrlFor, SCHEMAS, type Settings, urlOn } from "./settings.ts";
import { readMigrations } from "./status.ts";
import { describeMissing, type FoundDatabase, locateShards, requireAllServers, surveyServers } from "./survey.ts";
import { readUsage } from "./usage.ts";

type Finding = { check: string; shard: number | null; problem: string | null };

/** PgDog's SQLSTATE for its own errors, such as this refusal or a shard that is down. */
const ROUTER_ERROR = "58000";
const REFUSAL = /cross-shard/i;
const SAMPLE_SIZE = 20;

/** Checks the router and all shards. The exit code is 1 if it finds a problem. */
export async function checkShards(settings: Settings, quotaPassword: string | undefined): Promise<Result> {
  if (quotaPassword === undefined)
    throw new CliError("QUOTA_DATABASE_PASSWORD is not set: the checks log in to the router as the quota service");
  const survey = await surveyServers(settings);
  requireAllServers(survey);
  const located = locateShards(settings, survey);
  const routerUrl = routerUrlFor(settings, "quota", quotaPassword);
  const router = await connect(routerUrl);
  const findings: Finding[] = [];
  try {
    const [first] = located.values();
    if (first !== undefined) findings.push(finding("strict mode", null, await findLaxity(first, routerUrl)));
    const versions = new Map<number, string>();
    for (let shard = 0; shard < settings.shardCount; shard++) {
      findings.push(finding("alias", shard, await findWrongAlias(settings, shard)));
      const found = located.get(shard);
      if (found === undefined) {
        findings.push(finding("database", shard, describeMissing(databaseOf(settings, shard), survey)));
        continue;
      }
      findings.push(...(await checkDatabase(urlOn(found.server, found.name), { shard, router, versions })));
    }
    findings.push(...compareVersions(versions));
  } finally {
    await router.end().catch(() => undefined);
  }
  const problems = findings.filter(({ problem }) => problem !== null);
  const lines = problems.map(
    ({ check, shard, problem }) => `${shard === null ? "" : `shard ${shard}, `}${check}: ${problem}\n`,
  );
  return {
    json: findings,
    text:
      problems.length === 0 ? `${findings.length} checks of ${settings.shardCount} shards passed.\n` : lines.join(""),
    exitCode: problems.length === 0 ? 0 : 1,
  };
}

const finding = (check: string, shard: number | null, problem: string | undefined): Finding => ({
  check,
  shard,
  problem: problem ?? null,
});

const SHARDED_TABLES = `SELECT attrelid::regclass::text AS name FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
  WHERE attname = 'workspace_id' AND relkind IN ('r', 'p') AND relnamespace::regnamespace::text IN ('conversation', 'quota', 'llm')
  ORDER BY relnamespace::regnamespace::text <> 'quota', 1`;

/**
 * A statement without a workspace must fail. Otherwise the router would run it on several shards, or on any of them if it does not know that the
 * table has a workspace_id. The router refuses it before a shard could refuse the role's access to a table of another service.
 */
async function findLaxity({ server, name }: FoundDatabase, routerUrl: string): Promise<string | undefined> {
  const tables = await queryOnce<{ name: string }>(urlOn(server, name), SHARDED_TABLES);
  const failures = new Map<string, string>();
  // A connection of its own: PgDog without strict mode closes it after an error of several shards.
  await withClient(routerUrl, async (router) => {
    for (const table of tables) {
      const failure = await findFailureToRefuse(router, `SELECT 1 FROM ${table.name} LIMIT 1`);
      if (failure !== undefined) failures.set(table.name, failure);
    }
  });
  const [first] = failures;
  if (first === undefined) return undefined;
  const lax = failures.size === tables.length ? "all tables" : [...failures.keys()].join(", ");
  return `the router did not refuse statements without workspace_id on ${lax} (${first[1]}): set cross_shard_disabled = true, and run RELOAD in its admin database after each migration`;
}

async function findFailureToRefuse(router: Client, sql: string): Promise<string | undefined> {
  try {
    await router.query(sql);
    return "it ran one";
  } catch (error) {
    const isRefusal = error instanceof pg.DatabaseError && error.code === ROUTER_ERROR && REFUSAL.test(error.message);
    return isRefusal ? undefined : messageOf(error);
  }
}

async function findWrongAlias({ routerUrl }: Settings, shard: number): Promise<string | undefined> {
  try {
    const [row] = await queryOnce<{ number: string | null; database: string }>(
      urlOfShard(routerUrl, shard),
      "SELECT current_setting('parley.shard', true) AS number, current_database()::text AS database",
    );
    if (row?.number === String(shard)) return undefined;
    return `the alias leads to ${row?.database}, which has ${row?.number ? `parley.shard ${row.number}` : "no parley.shard"}`;
  } catch (error) {
    return messageOf(error);
  }
}

type Scope = {
  shard: number;
  router: Client;
  /** Receives the newest migrations of the shard. */
  versions: Map<number, string>;
};

async function checkDatabase(url: string, { shard, router, versions }: Scope): Promise<Finding[]> {
  try {
    return await withClient(url, async (client) => {
      const { rows } = await client.query<{ schema: string }>(
        "SELECT nspname::text AS schema FROM pg_namespace WHERE to_regclass(format('%I.migrations', nspname)) IS NOT NULL",
      );
      const migrations = await readMigrations(
        client,
        rows.map(({ schema }) => schema),
      );
      if (migrations.includes(null)) return [finding("schemas", shard, "a schema is missing: run parley migrate")];
      versions.set(shard, migrations.join(", "));
      return [
        finding("ids", shard, await findWrongIds(client, shard)),
        finding("workspaces", shard, await findMisplacedWorkspaces(client, router, shard)),
        finding("usage accounting", shard, await findUnbalanced(client)),
      ];
    });
  } catch (error) {
    return [finding("database", shard, messageOf(error))];
  }
}

async function findWrongIds(client: Client, shard: number): Promise<string | undefined> {
  const { rows } = await client.query<{ name: string; id: string }>(
    `SELECT format('%I.%I', schemaname, sequencename) AS name, coalesce(last_value, start_value)::text AS id FROM pg_sequences
     WHERE schemaname = ANY ($1) AND data_type = 'bigint'::regtype
       AND coalesce(last_value, start_value) NOT BETWEEN $2::bigint AND $3::bigint ORDER BY name`,
    [SCHEMAS, firstIdOf(shard), firstIdOf(shard) + IDS_PER_SHARD - 1],
  );
  return rows.length === 0
    ? undefined
    : `ids of another shard: ${rows.map(({ name, id }) => `${name} at ${id}`).join(", ")}`;
}

async function findMisplacedWorkspaces(client: Client, router: Client, shard: number): Promise<string | undefined> {
  const { rows: sample } = await client.query<{ id: string }>(
    "SELECT workspace_id AS id FROM quota.workspaces ORDER BY random() LIMIT $1",
    [SAMPLE_SIZE],
  );
  for (const { id } of sample) {
    const found = await findRoutedShard(router, id);
    if (found !== String(shard)) return `the router sends workspace ${id} to shard ${found ?? "without number"}`;
  }
  return undefined;
}

async function findUnbalanced(client: Client): Promise<string | undefined> {
  const { differences } = await readUsage(client);
  return differences === 0
    ? undefined
    : `usage differs from the ledger in ${differences} workspace months: run parley usage-audit`;
}

function compareVersions(versions: ReadonlyMap<number, string>): Finding[] {
  const [expected, ...others] = [...versions].sort(([a], [b]) => a - b);
  if (expected === undefined) return [];
  const different = others.filter(([, version]) => version !== expected[1]);
  if (different.length === 0) return [finding("versions", null, undefined)];
  return different.map(([shard, version]) =>
    finding("versions", shard, `has ${version}, and shard ${expected[0]} has ${expected[1]}: run parley migrate`),
  );
}
