import { ConfigError } from "../settings/environment.ts";
import { listErrorMessages, PREFLIGHT_EXIT_CODE } from "./collect.ts";

export type PreflightCheck = {
  /** Whether a problem keeps the service from becoming ready. A problem of another check is only a warning. */
  isRequired: boolean;
  /** Throws an error if it finds a problem. Its message names the variable and the chart's value to change. */
  run: () => Promise<unknown>;
};

export type PreflightOptions<C> = {
  service: string;
  readConfig: (environment: NodeJS.ProcessEnv) => C;
  listChecks: (config: C) => readonly PreflightCheck[];
  /** The chart's value for each variable of the configuration, such as `{ JWKS_URL: "sso.jwksUrl" }`. */
  chartValues: Readonly<Record<string, string>>;
};

/** Each check has this deadline. All run at the same time. */
const CHECK_TIMEOUT_MS = 12_000;

/**
 * The main function of a process that checks what a service needs, and starts nothing. Prints a line for each problem, on stderr, and ends the
 * process: with PREFLIGHT_EXIT_CODE if the service could not become ready, otherwise with 0. With the argument `--strict`, warnings count as
 * problems.
 */
export async function runPreflight<C>({
  service,
  readConfig,
  listChecks,
  chartValues,
}: PreflightOptions<C>): Promise<never> {
  const isStrict = process.argv.includes("--strict");
  const { problems, warnings } = await findProblems();
  for (const problem of problems) process.stderr.write(`${service}: ${problem}\n`);
  for (const warning of warnings) process.stderr.write(`${service}: ${isStrict ? "" : "warning: "}${warning}\n`);
  const hasFailed = problems.length > 0 || (isStrict && warnings.length > 0);
  if (problems.length + warnings.length === 0) process.stdout.write(`${service}: ready to start\n`);
  process.exit(hasFailed ? PREFLIGHT_EXIT_CODE : 0);

  async function findProblems(): Promise<{ problems: string[]; warnings: string[] }> {
    let config: C;
    try {
      // biome-ignore lint/style/noProcessEnv: the only place that passes the environment of a preflight to a service's config.ts
      config = readConfig(process.env);
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      return { problems: error.problems.map((problem) => nameChartValue(problem, chartValues)), warnings: [] };
    }
    const results = await Promise.all(
      listChecks(config).map(async ({ isRequired, run }) => ({
        isRequired,
        messages: await listErrorMessages([run], CHECK_TIMEOUT_MS),
      })),
    );
    const messagesOf = (required: boolean) =>
      results.flatMap(({ isRequired, messages }) => (isRequired === required ? messages : []));
    return { problems: messagesOf(true), warnings: messagesOf(false) };
  }
}

/** Appends the chart's value of the variable with which the problem begins. */
function nameChartValue(problem: string, chartValues: Readonly<Record<string, string>>): string {
  const value = chartValues[/^\w+/.exec(problem)?.[0] ?? ""];
  return value === undefined ? problem : `${problem} (chart: ${value})`;
}
