import { assertCertificatesAreUsable } from "../preflight/certificates.ts";
import { describeFileError, PREFLIGHT_EXIT_CODE } from "../preflight/collect.ts";
import { ConfigError, Environment } from "../settings/environment.ts";
import { type MigrateResult, migrate } from "./migrate.ts";
import type { MigrateOptions } from "./migrate-options.ts";
import {
  findProblemsOfShards,
  listShardTargets,
  migrateShards,
  nameShards,
  type ShardTarget,
} from "./migrate-shards.ts";
import { findMigrationProblems } from "./preflight.ts";
import { readShardCount } from "./shards.ts";

/**
 * The main function of a process that runs one service's migrations, on all shards if there are several. Prints a line on stdout for each applied
 * migration, or one line if there is none to apply. On failure prints a line on stderr for each problem and sets the exit code:
 * PREFLIGHT_EXIT_CODE if it has changed nothing and would fail again, otherwise 1.
 */
export async function runMigrations(
  target: Omit<MigrateOptions, "url" | "role" | "rolePassword" | "installation" | "shard">,
): Promise<void> {
  const { schema } = target;
  try {
    // biome-ignore lint/style/noProcessEnv: the only place that reads the environment of a migration
    const config = readConfig(process.env, schema);
    const { url, rolePassword, installation, certificates, shardCount } = config;
    const options = {
      ...target,
      role: `${config.rolePrefix}${schema}${config.roleSuffix}`,
      url,
      ...(rolePassword !== undefined && { rolePassword }),
      ...(installation !== undefined && { installation }),
      ...(config.shard !== undefined && { shard: config.shard }),
    };
    const shards = shardCount === 1 ? undefined : listShardTargets(options, shardCount);
    const problems = [
      ...findCertificateProblems(certificates),
      ...(await (shards === undefined ? findMigrationProblems(options) : findProblemsOfShards(shards))),
    ];
    if (problems.length > 0) throw new ConfigError(problems);
    if (shards === undefined) printResult(schema, await migrate(options));
    else await runOnShards(schema, shards);
  } catch (error) {
    const problems = error instanceof ConfigError ? error.problems : [describe(error)];
    for (const problem of problems) printProblem(schema, problem);
    process.exitCode = error instanceof ConfigError ? PREFLIGHT_EXIT_CODE : 1;
  }
}

async function runOnShards(schema: string, shards: readonly ShardTarget[]): Promise<void> {
  const failed = await migrateShards(shards, {
    onMigrated: (number, result) => printResult(`${schema}: shard ${number}`, result),
    onFailed: (number, error) => printProblem(schema, `shard ${number}: ${describe(error)}`),
  });
  if (failed.length > 0) throw new Error(`${nameShards(failed)} of ${shards.length} failed; run the migrations again`);
}

/** `rolePassword` is undefined if the service's role was created by hand. */
function readConfig(values: NodeJS.ProcessEnv, schema: string) {
  const environment = new Environment(values);
  const roleSuffix = environment.text("DATABASE_ROLE_SUFFIX", "");
  const areRolesShared = environment.oneOf("DATABASE_ROLES_SHARED", ["on", "off"], "off") === "on";
  return environment.finish({
    url: readDatabaseUrl(environment),
    shardCount: readShardCount(environment),
    shard: readShard(environment),
    rolePassword: readRolePassword(environment, `${schema.toUpperCase()}_DATABASE_PASSWORD${roleSuffix}`),
    installation: areRolesShared ? undefined : environment.text("PARLEY_INSTALLATION", ""),
    /** The roles of an installation are named after their schemas, such as `parley_quota`. */
    rolePrefix: readRolePrefix(environment),
    /** Selects the service's second role: the two roles take turns when passwords are rotated. */
    roleSuffix,
    /** The service's own certificate, which a later start of the service needs, and the name that it must have. Both only in the chart. */
    certificates: {
      tlsDir: environment.optionalText("GRPC_TLS_DIR"),
      name: environment.optionalText("GRPC_TLS_NAME"),
    },
  });
}

function findCertificateProblems({ tlsDir, name }: { tlsDir: string | undefined; name: string | undefined }): string[] {
  if (tlsDir === undefined) return [];
  try {
    assertCertificatesAreUsable(tlsDir, name);
    return [];
  } catch (error) {
    return [`GRPC_TLS_DIR: ${describeFileError(error)} (chart: mtls; the Secret ends in -tls)`];
  }
}

function readDatabaseUrl(environment: Environment): string {
  const purpose = "the database, as a role that may create schemas";
  const url = environment.requiredUrl("DATABASE_URL", ["postgres", "postgresql"], purpose);
  if (!URL.canParse(url)) return url;
  const { pathname, username } = new URL(url);
  // pg would use the user's name.
  if (pathname.length <= 1) environment.addProblem("DATABASE_URL names no database (chart: database.name)");
  // Kubernetes leaves the reference in the URL if the Secret has no such key.
  if (decodeURIComponent(username).startsWith("$("))
    environment.addProblem(
      "DATABASE_ADMIN_USERNAME is not set: the administrator's name (chart: the key migrations.admin.usernameKey of the Secret in migrations.admin.existingSecret, by default existingSecret)",
    );
  return url;
}

/** The chart sets DATABASE_CREATE_ROLE, because a Secret without the password would otherwise look like a role that was created by hand. */
function readRolePassword(environment: Environment, key: string): string | undefined {
  if (environment.oneOf("DATABASE_CREATE_ROLE", ["on", "off"], "off") === "off")
    return environment.optionalText("DATABASE_PASSWORD");
  return environment.requiredText(
    "DATABASE_PASSWORD",
    `the password of the service's role (chart: the key ${key} of the Secret in database.existingSecret, by default existingSecret)`,
  );
}

/**
 * Reads DATABASE_SHARD, such as `parley_3`. It is set if DATABASE_URL leads to one shard's database without a router, whatever the name of this
 * database: the name of the sharded database and the shard's number.
 */
function readShard(environment: Environment): MigrateOptions["shard"] {
  const text = environment.optionalText("DATABASE_SHARD");
  if (text === undefined) return undefined;
  const [, database = "", number] = /^(.+)_(\d{1,2})$/.exec(text) ?? [];
  if (number === undefined) environment.addProblem('DATABASE_SHARD must be like "parley_3"');
  return { database, number: Number(number) };
}

/** At most 40 characters, because PostgreSQL truncates names after 63. */
function readRolePrefix(environment: Environment): string {
  const prefix = environment.text("DATABASE_ROLE_PREFIX", "parley_");
  if (!/^[a-z_][a-z0-9_]{0,39}$/.test(prefix))
    environment.addProblem(
      `DATABASE_ROLE_PREFIX must be at most 40 lower-case letters, digits and _, and not start with a digit, not "${prefix}"`,
    );
  return prefix;
}

function printResult(subject: string, result: MigrateResult): void {
  for (const line of describeResult(result)) process.stdout.write(`${subject}: ${line}\n`);
}

function printProblem(schema: string, problem: string): void {
  process.stderr.write(`${schema}: cannot migrate: ${problem}\n`);
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : "failed";
}

function describeResult({ applied, newerMigration }: MigrateResult): string[] {
  if (newerMigration !== undefined) return [`schema (${newerMigration}) is newer than this version; nothing to do`];
  return applied.length === 0 ? ["up to date"] : applied.map((name) => `applied ${name}`);
}
