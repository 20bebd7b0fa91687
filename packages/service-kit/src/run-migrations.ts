import { ConfigError } from "./environment.ts";
import { type MigrateOptions, migrate } from "./migrate.ts";

type MigrateConfig = { url: string; rolePassword: string | undefined };

/**
 * Runs one service's migrations as a process: a line for each one applied, exit 0; or one clear line on stderr, exit 1.
 */
export async function runMigrations(
  readConfig: (environment: NodeJS.ProcessEnv) => MigrateConfig,
  target: Omit<MigrateOptions, "url" | "rolePassword">,
): Promise<void> {
  try {
    // biome-ignore lint/style/noProcessEnv: the one place that hands the environment to a migration's config.ts
    const { url, rolePassword } = readConfig(process.env);
    const applied = await migrate({ ...target, url, ...(rolePassword === undefined ? {} : { rolePassword }) });
    const lines = applied.length === 0 ? ["up to date"] : applied.map((name) => `applied ${name}`);
    for (const line of lines) process.stdout.write(`${target.schema}: ${line}\n`);
  } catch (error) {
    const problems =
      error instanceof ConfigError ? error.problems : [error instanceof Error ? error.message : "failed"];
    for (const problem of problems) process.stderr.write(`${target.schema}: cannot migrate: ${problem}\n`);
    process.exitCode = 1;
  }
}
