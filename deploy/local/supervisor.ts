import { setTimeout as sleep } from "node:timers/promises";
import { StartError } from "./errors.ts";
import { openLogFile } from "./log-file.ts";
import { type ProcessDeath, type ProcessLife, type ProcessSpec, startLife } from "./process-life.ts";

/** Something a person at the terminal should know of a process. */
export type Notice = { name: string; level: "info" | "warn" | "error"; text: string };

export type Supervised = {
  /** Resolves when it first can do its work. Rejects with StartError when it cannot be started. */
  ready: Promise<void>;
  /** Tells it to end and waits; ends it by force when it takes too long. Not started again. */
  stop: () => Promise<void>;
  /** Ends it by force, at once. */
  kill: () => void;
};

export type Patience = {
  /** How long until it must first be ready. */
  readyTimeoutMs: number;
  /** Pause before the first new start; each further one doubles it. */
  firstPauseMs: number;
  maxPauseMs: number;
  /** Having lived this long, it starts anew with the first pause. */
  calmMs: number;
};

const PATIENCE: Patience = { readyTimeoutMs: 60_000, firstPauseMs: 250, maxPauseMs: 30_000, calmMs: 60_000 };

/**
 * Keeps a process running: starts it, and starts it again with growing pauses whenever it ends by itself. One that ends
 * before it was ever ready is not started again: something is wrong that a person must mend.
 */
export async function supervise(
  spec: ProcessSpec,
  notify: (notice: Notice) => void,
  patience: Patience = PATIENCE,
): Promise<Supervised> {
  const log = await openLogFile(spec.logPath);
  const stopping = new AbortController();
  const firstReady = Promise.withResolvers<void>();
  // Whoever stops us before that does not wait for it.
  firstReady.promise.catch(() => undefined);
  const tell = (level: Notice["level"], text: string) => notify({ name: spec.name, level, text });
  let life: ProcessLife | undefined;

  const finished = keepRunning();
  return { ready: firstReady.promise, stop, kill: () => life?.kill() };

  async function keepRunning(): Promise<void> {
    let wasReady = false;
    let failures = 0;
    const late = setTimeout(
      () => firstReady.reject(new StartError(`${spec.name} is not ready after a minute: see ${spec.logPath}`)),
      patience.readyTimeoutMs,
    );
    while (!stopping.signal.aborted) {
      const startedAt = performance.now();
      life = startLife(spec, log, ({ level, text }) => {
        // Until it is first ready, what keeps it from that is told once, with its end.
        if (wasReady && (level === "warn" || level === "error")) tell(level, text);
      });
      if (await life.ready) {
        clearTimeout(late);
        if (wasReady) tell("info", "is back");
        wasReady = true;
        firstReady.resolve();
      }
      const death = await life.ended;
      if (stopping.signal.aborted) break;
      if (!wasReady) {
        firstReady.reject(new StartError(`${spec.name} did not start (${describe(death)}): see ${spec.logPath}`));
        break;
      }
      failures = performance.now() - startedAt < patience.calmMs ? failures + 1 : 1;
      const pauseMs = Math.min(patience.maxPauseMs, patience.firstPauseMs * 2 ** (failures - 1));
      tell("error", `ended by itself (${describe(death)}); starting it again in ${pauseMs / 1000} s`);
      await sleep(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    clearTimeout(late);
    log.end();
  }

  async function stop(): Promise<void> {
    stopping.abort();
    life?.terminate();
    const late = setTimeout(() => {
      tell("warn", `did not end within ${spec.stopTimeoutMs / 1000} s and is killed`);
      life?.kill();
    }, spec.stopTimeoutMs);
    await finished;
    clearTimeout(late);
  }
}

function describe({ how, lastWords }: ProcessDeath): string {
  return lastWords === undefined ? how : `${how}: ${lastWords}`;
}
