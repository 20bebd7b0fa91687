import { once } from "node:events";
import { CliError, START_COMMAND } from "@parley/cli";
import { ConfigError } from "@parley/service-kit/environment";
import { CleanupStack } from "./cleanup-stack.ts";
import { type Config, readConfig } from "./config.ts";
import { StartError } from "./errors.ts";
import { watchLaunchers } from "./processes/watch-launchers.ts";
import { startParley } from "./start-parley.ts";
import { createTerminal } from "./terminal.ts";

/** The exit code of a program that SIGINT ended. */
const EXIT_INTERRUPTED = 130;
/** Within this time, a second signal may be the same Ctrl-C, delivered by both the terminal and a package manager. */
const DUPLICATE_SIGNAL_MS = 200;

const terminal = createTerminal(process.stdout, process.stderr);
// Ignores write errors of a closed terminal, so that the cleanup still runs.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
const config = readConfigOrReport();
if (config) process.exit(await run(config));

/** Runs Parley until the stop signal. Returns the exit code. */
async function run(config: Config): Promise<number> {
  const cleanups = new CleanupStack();
  const stopSignal = createStopSignal(cleanups);
  let exitCode = 0;
  try {
    const summary = await startParley(config, terminal, cleanups, stopSignal);
    terminal.writeLine(summary);
    if (!stopSignal.aborted) await once(stopSignal, "abort");
  } catch (error) {
    if (!stopSignal.aborted) {
      exitCode = 1;
      if (!(error instanceof StartError || error instanceof CliError)) throw error;
      terminal.showFailure(error.message);
    }
  } finally {
    if (stopSignal.aborted)
      terminal.writeLine("\nStopping after the running replies end. Press Ctrl-C again to exit immediately.");
    await cleanups.close();
  }
  if (stopSignal.aborted) terminal.writeLine(`Stopped. The data is kept. Start again with ${START_COMMAND}.`);
  return exitCode;
}

/**
 * Returns a signal that aborts on SIGINT, SIGTERM or SIGHUP, when the package manager (pnpm or npx) exits, or when a parent process closes the
 * IPC channel. After that, SIGINT, SIGTERM or SIGHUP exits immediately, except within DUPLICATE_SIGNAL_MS of the signal that caused the abort.
 */
function createStopSignal(cleanups: CleanupStack): AbortSignal {
  const stop = new AbortController();
  let requestedAtMs = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (!stop.signal.aborted) requestedAtMs = performance.now();
      else if (performance.now() - requestedAtMs > DUPLICATE_SIGNAL_MS) {
        cleanups.closeNow();
        process.exit(EXIT_INTERRUPTED);
      }
      stop.abort();
    });
  }
  process.once("disconnect", () => stop.abort());
  void watchLaunchers(() => stop.abort());
  return stop.signal;
}

function readConfigOrReport(): Config | undefined {
  try {
    // biome-ignore lint/style/noProcessEnv: passes the environment to config.ts
    return readConfig(process.env, process.cwd());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.showFailure(error.message);
    process.exitCode = 1;
    return undefined;
  }
}
