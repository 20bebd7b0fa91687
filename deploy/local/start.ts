import { once } from "node:events";
import { CliError, START_COMMAND } from "@parley/cli";
import { ConfigError } from "@parley/service-kit/environment";
import { Closing } from "./closing.ts";
import { type Config, readConfig } from "./config.ts";
import { StartError } from "./errors.ts";
import { watchLaunchers } from "./launchers.ts";
import { bringUp } from "./sequence.ts";
import { createTerminal } from "./terminal.ts";

/** As a shell reports a program that SIGINT ended. */
const EXIT_AT_ONCE = 130;
/** The terminal and a package manager may both pass on the same Ctrl-C. */
const SAME_REQUEST_MS = 200;

const terminal = createTerminal(process.stdout, process.stderr);
// A terminal that is closed must not keep us from stopping what we started.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => undefined);
const config = readOrExit();
if (config) process.exit(await run(config));

/** Starts everything and keeps it running until told to stop. Returns the exit code. */
async function run(config: Config): Promise<number> {
  const closing = new Closing();
  const stop = stopRequest(closing);
  let exitCode = 0;
  try {
    terminal.line(await bringUp(config, terminal, closing, stop));
    if (!stop.aborted) await once(stop, "abort");
  } catch (error) {
    if (!stop.aborted) {
      exitCode = 1;
      if (!(error instanceof StartError || error instanceof CliError)) throw error;
      terminal.fail(error.message);
    }
  } finally {
    if (stop.aborted) terminal.line("\nStopping: replies under way are finished first. Ctrl-C again leaves at once.");
    await closing.close();
  }
  if (stop.aborted) terminal.line(`Stopped. The data is kept: ${START_COMMAND} finds it again.`);
  return exitCode;
}

/** Aborted by the first signal to stop, or when whoever started us is gone; the second signal leaves at once. */
function stopRequest(closing: Closing): AbortSignal {
  const stop = new AbortController();
  let askedAt = 0;
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.on(signal, () => {
      if (!stop.signal.aborted) askedAt = performance.now();
      else if (performance.now() - askedAt > SAME_REQUEST_MS) {
        closing.abandon();
        process.exit(EXIT_AT_ONCE);
      }
      stop.abort();
    });
  }
  process.once("disconnect", () => stop.abort());
  void watchLaunchers(() => stop.abort());
  return stop.signal;
}

function readOrExit(): Config | undefined {
  try {
    // biome-ignore lint/style/noProcessEnv: the one place that hands the environment to config.ts
    return readConfig(process.env, process.cwd());
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    terminal.fail(error.message);
    process.exitCode = 1;
    return undefined;
  }
}
