import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "../errors.ts";
import { openLogFile } from "./log-file.ts";
import { type ProcessExit, type ProcessRun, type ProcessSpec, startProcess } from "./process-run.ts";

/** A message about the process `name`, for the terminal. */
export type Notice = { name: string; level: "info" | "warn" | "error"; text: string };

export type SupervisedProcess = {
  /** Resolves when the process is first ready. Rejects with StartError when the start fails. */
  ready: Promise<void>;
  /** Stops the process and does not restart it. Kills it if it still runs after the spec's `stopTimeoutMs`. */
  stop: () => Promise<void>;
  kill: () => void;
};

export type RestartPolicy = {
  readyTimeoutMs: number;
  /** Delay before the first restart. Each further restart doubles it. */
  firstDelayMs: number;
  maxDelayMs: number;
  /** After a run of at least this length, the next delay is `firstDelayMs` again. */
  stableAfterMs: number;
};

const DEFAULT_POLICY: RestartPolicy = {
  readyTimeoutMs: 60_000,
  firstDelayMs: 250,
  maxDelayMs: 30_000,
  stableAfterMs: 60_000,
};

/**
 * Starts a process and restarts it with exponential backoff when it exits. Does not restart a process that exits before it was first
 * ready, because the user must fix the cause.
 */
export async function supervise(
  spec: ProcessSpec,
  notify: (notice: Notice) => void,
  policy: RestartPolicy = DEFAULT_POLICY,
): Promise<SupervisedProcess> {
  const log = await openLogFile(spec.logPath);
  const stopping = new AbortController();
  const firstReady = Promise.withResolvers<void>();
  // A caller that stops the process early may never await `ready`. Without this handler, a rejection of `ready` would end the
  // supervising process.
  firstReady.promise.catch(() => undefined);
  const report = (level: Notice["level"], text: string) => notify({ name: spec.name, level, text });
  log.once("error", ({ message }) => report("error", `logging to ${spec.logPath} stopped (${message})`));
  let processRun: ProcessRun | undefined;

  const finished = keepRunning();
  return { ready: firstReady.promise, stop, kill: () => processRun?.kill() };

  async function keepRunning(): Promise<void> {
    let wasReady = false;
    let failures = 0;
    const timeout = setTimeout(
      () =>
        firstReady.reject(
          new StartError(`${spec.name} is not ready after ${policy.readyTimeoutMs / 1000} s: see ${spec.logPath}`),
        ),
      policy.readyTimeoutMs,
    );
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      processRun = startProcess(spec, log, ({ level, text }) => {
        // Before the first readiness, the StartError below reports the last error.
        if (wasReady && (level === "warn" || level === "error")) report(level, text);
      });
      if (await processRun.ready) {
        clearTimeout(timeout);
        if (wasReady) report("info", "restarted");
        wasReady = true;
        firstReady.resolve();
      }
      const exit = await processRun.exited;
      if (stopping.signal.aborted) break;
      if (!wasReady) {
        firstReady.reject(new StartError(`${spec.name} did not start (${describe(exit)}): see ${spec.logPath}`));
        break;
      }
      failures = performance.now() - startedAt < policy.stableAfterMs ? failures + 1 : 1;
      const delayMs = Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (failures - 1));
      report("error", `exited unexpectedly (${describe(exit)}), restarting in ${delayMs / 1000} s`);
      await sleep(delayMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    clearTimeout(timeout);
    log.end();
  }

  async function stop(): Promise<void> {
    stopping.abort();
    processRun?.terminate();
    const timeout = setTimeout(() => {
      report("warn", `did not stop within ${spec.stopTimeoutMs / 1000} s, killing it`);
      processRun?.kill();
    }, spec.stopTimeoutMs);
    await finished;
    clearTimeout(timeout);
  }
}

function describe({ status, lastError }: ProcessExit): string {
  return lastError === undefined ? status : `${status}: ${lastError}`;
}
