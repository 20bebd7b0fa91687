import { ConfigError, Environment } from "../settings/environment.ts";
import { type MigrateOptions, type MigrateResult, migrate } from "./migrate.ts";

/**
 * The main function of a process that runs one service's migrations. Prints a line on stdout for each applied migration, or one line if there
 * is none to apply. On failure prints a line on stderr for each problem and sets the exit code to 1.
 */
export async function runMigrations(
  target: Omit<MigrateOptions, "url" | "role" | "rolePassword" | "installation">,
): Promise<void> {
  try {
    // biome-ignore lint/style/noProcessEnv: the only place that reads the environment of a migration
    const { url, rolePassword, installation, rolePrefix, roleSuffix } = readConfig(process.env);
    const role = `${rolePrefix}${target.schema}${roleSuffix}`;
    const result = await migrate({
      ...target,
      role,
      url,
      ...(rolePassword !== undefined && { rolePassword }),
      ...(installation !== undefined && { installation }),
    });
    for (const line of describeResult(result)) process.stdout.write(`${target.schema}: ${line}\n`);
  } catch (error) {
    const problems =
      error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : "failed"];
    for (const problem of problems) process.stderr.write(`${target.schema}: cannot migrate: ${problem}\n`);
    process.exitCode = 1;
  }
}

/** `rolePassword` is undefined if the service's role was created by hand. */
function readConfig(values: NodeJS.ProcessEnv) {
  const environment = new Environment(values);
  const areRolesShared = environment.oneOf("DATABASE_ROLES_SHARED", ["on", "off"], "off") === "on";
  return environment.finish({
    url: environment.requiredUrl(
      "DATABASE_URL",
      ["postgres", "postgresql"],
      "the database, as a role that may create schemas",
    ),
    rolePassword: environment.optionalText("DATABASE_PASSWORD"),
    installation: areRolesShared ? undefined : environment.text("PARLEY_INSTALLATION", ""),
    /** The roles of an installation are named after their schemas, such as `parley_quota`. */
    rolePrefix: readRolePrefix(environment),
    /** Selects the service's second role: the two roles take turns when passwords are rotated. */
    roleSuffix: environment.text("DATABASE_ROLE_SUFFIX", ""),
  });
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

function describeResult({ applied, newerMigration }: MigrateResult): string[] {
  if (newerMigration !== undefined) return [`schema (${newerMigration}) is newer than this version; nothing to do`];
  return applied.length === 0 ? ["up to date"] : applied.map((name) => `applied ${name}`);
}
