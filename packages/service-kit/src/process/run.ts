import { armFailpoints } from "../failpoint.ts";
import { createServiceMetrics, type ServiceMetrics } from "../ops/metrics.ts";
import { ConfigError } from "../settings/environment.ts";
import type { TracingSettings } from "../tracing/settings.ts";
import { startTracing } from "../tracing/start.ts";
import { Lifecycle, SERVICE_CLOSE_TIMEOUT_MS } from "./lifecycle.ts";
import { createLogger, type Logger, type LogLevel } from "./logger.ts";

type CommonConfig = {
  logLevel: LogLevel;
  /** How long work in flight may continue after the service starts to stop. */
  drainMs: number;
  tracing: TracingSettings | undefined;
};

/**
 * Runs a service until it receives SIGTERM or SIGINT, or its supervisor disconnects from the IPC channel. If another of these events occurs
 * while the service is stopping, it exits immediately. The exit code is 0 if the service closed within `drainMs` + `SERVICE_CLOSE_TIMEOUT_MS`,
 * otherwise 1.
 */
export async function runService<C extends CommonConfig>(
  service: string,
  readConfig: (environment: NodeJS.ProcessEnv) => C,
  start: (config: C, log: Logger, lifecycle: Lifecycle, metrics: ServiceMetrics) => Promise<void>,
): Promise<void> {
  const config = readConfigOrExit(service, readConfig);
  const log = createLogger(service, config.logLevel);
  const lifecycle = new Lifecycle(log);
  const stop = (reason: string) => {
    if (isStopping) process.exit(1);
    isStopping = true;
    log.info({ reason }, "stopping");
    void lifecycle.close(config.drainMs + SERVICE_CLOSE_TIMEOUT_MS).then((isClosed) => process.exit(isClosed ? 0 : 1));
  };
  let isStopping = false;
  process.on("SIGTERM", () => stop("SIGTERM"));
  process.on("SIGINT", () => stop("SIGINT"));
  // `connected` is undefined without an IPC channel, and false if the supervisor disconnected before this line.
  if (process.connected === false) stop("supervisor disconnected");
  process.once("disconnect", () => stop("supervisor disconnected"));
  process.on("unhandledRejection", (error) => {
    log.fatal({ error }, "unhandled rejection");
    process.exit(1);
  });
  try {
    const metrics = createServiceMetrics(service);
    await startTracing(service, config.tracing, log, lifecycle, metrics.reloadRefusals);
    await start(config, log, lifecycle, metrics);
    log.info("started");
  } catch (error) {
    log.fatal({ error }, `cannot start: ${error instanceof Error ? error.message : "unknown reason"}`);
    await lifecycle.close();
    process.exit(1);
  }
}

function readConfigOrExit<C>(service: string, readConfig: (environment: NodeJS.ProcessEnv) => C): C {
  try {
    // biome-ignore lint/style/noProcessEnv: the only place that passes the environment to a service's config.ts
    const environment = process.env;
    armFailpoints(environment.PARLEY_FAILPOINTS);
    return readConfig(environment);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    for (const problem of error.problems) process.stderr.write(`${service}: ${problem}\n`);
    process.exit(1);
  }
}
