import { ConfigError } from "./environment.ts";
import { type MigrateOptions, type MigrateResult, migrate } from "./migrate.ts";

export type MigrateTarget = Omit<MigrateOptions, "url" | "rolePassword"> & {
  readConfig: (environment: NodeJS.ProcessEnv) => { url: string; rolePassword: string | undefined };
};

/** The parts of a process that `runMigrations` uses. */
type MigrateProcess = {
  env: NodeJS.ProcessEnv;
  stdout: { write(text: string): unknown };
  stderr: { write(text: string): unknown };
  exitCode?: NodeJS.Process["exitCode"];
};

/**
 * Runs one service's migrations as a process. Prints a line on stdout for each applied migration, or one line if there is none to apply. On
 * failure prints a line on stderr for each problem and sets the exit code to 1.
 */
export async function runMigrations(
  { readConfig, ...target }: MigrateTarget,
  process: MigrateProcess = globalThis.process,
): Promise<void> {
  try {
    const { url, rolePassword } = readConfig(process.env);
    const result = await migrate({ ...target, url, ...(rolePassword === undefined ? {} : { rolePassword }) });
    for (const line of describe(result)) process.stdout.write(`${target.schema}: ${line}\n`);
  } catch (error) {
    const problems =
      error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : "failed"];
    for (const problem of problems) process.stderr.write(`${target.schema}: cannot migrate: ${problem}\n`);
    process.exitCode = 1;
  }
}

function describe({ applied, newer }: MigrateResult): string[] {
  if (newer !== undefined) return [`schema is newer than this version (${newer}); nothing to do`];
  return applied.length === 0 ? ["up to date"] : applied.map((name) => `applied ${name}`);
}
