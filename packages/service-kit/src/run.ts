import { ConfigError } from "./environment.ts";
import { armFailpoints } from "./failpoint.ts";
import { Lifecycle, STOP_WITHIN_MS } from "./lifecycle.ts";
import { createLogger, type Logger, type LogLevel } from "./logger.ts";
import type { TracingSettings } from "./tracing/settings.ts";
import { startTracing } from "./tracing/start.ts";

type Settings = {
  logLevel: LogLevel;
  /** What its work in flight is given to end by itself. */
  drainMs: number;
  tracing: TracingSettings | undefined;
};

/**
 * Runs a service until it is told to stop: reads its configuration, starts it, and closes it on SIGTERM or SIGINT, or when
 * the process that started it with an IPC channel is gone. A second signal leaves at once.
 * Exits 0 after a clean stop, 1 when the service could not start, or had not stopped `STOP_WITHIN_MS` after its drain.
 */
export async function run<C extends Settings>(
  service: string,
  readConfig: (environment: NodeJS.ProcessEnv) => C,
  start: (config: C, log: Logger, lifecycle: Lifecycle) => Promise<void>,
): Promise<void> {
  const config = readOrExit(service, readConfig);
  const log = createLogger(service, config.logLevel);
  const lifecycle = new Lifecycle(log);
  const stop = (reason: string) => {
    if (stopping) process.exit(1);
    stopping = true;
    log.info({ reason }, "stopping");
    void lifecycle.close(config.drainMs + STOP_WITHIN_MS).then((isClosed) => process.exit(isClosed ? 0 : 1));
  };
  let stopping = false;
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => stop("SIGINT"));
  // undefined without an IPC channel; false when its other end went away before we could listen.
  if (process.connected === false) stop("supervisor is gone");
  process.once("disconnect", () => stop("supervisor is gone"));
  process.on("unhandledRejection", (error) => {
    log.fatal({ error }, "unhandled rejection");
    process.exit(1);
  });
  try {
    await startTracing(service, config.tracing, log, lifecycle);
    await start(config, log, lifecycle);
    log.info("started");
  } catch (error) {
    log.fatal({ error }, `cannot start: ${error instanceof Error ? error.message : "unknown reason"}`);
    await lifecycle.close();
    process.exit(1);
  }
}

function readOrExit<C>(service: string, readConfig: (environment: NodeJS.ProcessEnv) => C): C {
  try {
    // biome-ignore lint/style/noProcessEnv: the one place that hands the environment to a service's config.ts
    const environment = process.env;
    armFailpoints(environment.PARLEY_FAILPOINTS);
    return readConfig(environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) process.stderr.write(`${service}: ${problem}\n`);
    process.exit(1);
  }
}
