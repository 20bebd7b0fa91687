import { ConfigError, Environment } from "../settings/environment.ts";
import { type MigrateOptions, type MigrateResult, migrate } from "./migrate.ts";

/**
 * The main function of a process that runs one service's migrations. Prints a line on stdout for each applied migration, or one line if there
 * is none to apply. On failure prints a line on stderr for each problem and sets the exit code to 1.
 */
export async function runMigrations(target: Omit<MigrateOptions, "url" | "rolePassword">): Promise<void> {
  try {
    // biome-ignore lint/style/noProcessEnv: the only place that reads the environment of a migration
    const { url, rolePassword, roleSuffix } = readConfig(process.env);
    const role = `${target.role}${roleSuffix}`;
    const result = await migrate({ ...target, role, url, ...(rolePassword === undefined ? {} : { rolePassword }) });
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
  return environment.finish({
    url: environment.requiredUrl(
      "DATABASE_URL",
      ["postgres", "postgresql"],
      "the database, as a role that may create schemas",
    ),
    rolePassword: environment.optionalText("DATABASE_PASSWORD"),
    /** Selects the service's second role: the two roles take turns when passwords are rotated. */
    roleSuffix: environment.text("DATABASE_ROLE_SUFFIX", ""),
  });
}

function describeResult({ applied, newerMigration }: MigrateResult): string[] {
  if (newerMigration !== undefined) return [`schema (${newerMigration}) is newer than this version; nothing to do`];
  return applied.length === 0 ? ["up to date"] : applied.map((name) => `applied ${name}`);
}
