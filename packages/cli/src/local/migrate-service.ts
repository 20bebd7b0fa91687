import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CliError } from "../errors.ts";

export const MIGRATED_SERVICES = ["conversation", "quota", "llm-proxy"] as const;
export type MigratedService = (typeof MIGRATED_SERVICES)[number];

/** The variables that tell a migration which roles the services use, to which installation these belong, and the number of shards. */
export const MIGRATION_VARIABLES = [
  "DATABASE_ROLE_PREFIX",
  "DATABASE_ROLE_SUFFIX",
  "DATABASE_ROLES_SHARED",
  "DATABASE_SHARDS",
  "PARLEY_INSTALLATION",
];

export type MigrateRequest = {
  /** Connects as an administrator, who may create schemas. With `rolePassword`, the administrator must also be allowed to create roles. */
  databaseUrl: string;
  /** The new password of the service's role. Without it, the role stays unchanged. */
  rolePassword?: string | undefined;
  /** Those of MIGRATION_VARIABLES that are set. */
  migrationVariables?: Readonly<Record<string, string>>;
  /** Environment variables to pass on to the child process, such as PATH. */
  systemVariables: Readonly<Record<string, string>>;
};

export type ServiceMigration = {
  /** The names of the applied migrations, each once, whatever the number of shards. */
  applied: string[];
  /** The newest migration in the schema, if a newer version of Parley applied it. Without shards, `applied` is then empty. */
  newerMigration?: string;
};

/** Node 22.15 to 22.17 and 23.0 to 23.5 run TypeScript only with the first flag. The second flag hides the warning about the first. */
export const NODE_FLAGS = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"];

/**
 * Runs a service's migrations in a child process, without a deadline, because the migration of a large table may take hours. If they fail,
 * throws CliError with the reason.
 */
export async function migrateService(service: MigratedService, request: MigrateRequest): Promise<ServiceMigration> {
  const script = fileURLToPath(new URL(`../../../../services/${service}/src/migrate.ts`, import.meta.url));
  const env = {
    ...request.systemVariables,
    ...request.migrationVariables,
    DATABASE_URL: request.databaseUrl,
    ...(request.rolePassword !== undefined && { DATABASE_PASSWORD: request.rolePassword }),
  };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, script], { env });
    const newerMigration = /: schema \((.+)\) is newer than this version/.exec(stdout)?.[1];
    const applied = new Set(splitLines(stdout).flatMap((line) => /: applied (.+)$/.exec(line)?.[1] ?? []));
    return { applied: [...applied], ...(newerMigration !== undefined && { newerMigration }) };
  } catch (cause) {
    const reason = findFailureReason((cause as { stderr?: string }).stderr ?? "");
    throw new CliError(
      reason ?? `${service}: the migration failed without output; run parley migrate ${service} again`,
      { cause },
    );
  }
}

/** Matches the problems that runMigrations prints, or Node's output for an uncaught error up to its stack. */
const REASON = /^(?:\S+: cannot migrate: |\w*Error\b)(?:.|\n(?! {4}at ))*/m;

/** Returns the reason in a failed migration's stderr as one line, or the last line if it finds none. */
export function findFailureReason(stderr: string): string | undefined {
  const reason = REASON.exec(stderr)?.[0];
  return reason === undefined ? splitLines(stderr).at(-1) : splitLines(reason).join("; ");
}

function splitLines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}
