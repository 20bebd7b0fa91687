import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { scrubbedEnv } from "./environment.ts";
import { killAndUntrackGroup, trackGroup } from "./leftovers.ts";

/** Node.js options that run a TypeScript file: `startProcess({ command: process.execPath, args: [...nodeFlags, file] })`. */
export const nodeFlags = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"];

export interface ProcessOptions {
  /** Name in error messages. */
  name: string;
  command: string;
  args?: string[];
  /** Additional environment variables. The process also inherits those variables of the test process that `scrubbedEnv` keeps. */
  env?: Record<string, string>;
  cwd?: string;
  /** The process is ready when its output matches the RegExp or the function returns true. If undefined, it is ready at once. */
  ready?: RegExp | (() => Promise<boolean>);
  readyTimeoutMs?: number;
}

export interface ProcessExit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

export interface RunningProcess {
  name: string;
  pid: number;
  /** Waits until the process is ready. Returns the match of `ready`. Rejects if the process exits or `readyTimeoutMs` passes. */
  waitReady(): Promise<RegExpMatchArray | undefined>;
  /** Sends a signal without waiting. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal (default SIGTERM) and waits for the exit. After `timeoutMs` (default 10 s) it kills the process and rejects. */
  stop(signal?: NodeJS.Signals, timeoutMs?: number): Promise<ProcessExit>;
  kill9(): Promise<ProcessExit>;
  /** Resolves when the process has exited and all its output is read. */
  exited: Promise<ProcessExit>;
  isRunning(): boolean;
  stdout(): string;
  stderr(): string;
  /** Returns stdout and stderr in the order of arrival. */
  output(): string;
}

/** Starts a process in its own process group. Kills the whole group when the process exits, and at the latest at the end of the test file. */
export async function startProcess(options: ProcessOptions): Promise<RunningProcess> {
  const { name, command, args = [], cwd, ready, readyTimeoutMs = 30_000 } = options;
  const child = spawn(command, args, {
    env: scrubbedEnv(options.env),
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
    ...(cwd && { cwd }),
  });
  await once(child, "spawn");
  const pid = child.pid;
  if (pid === undefined) throw new Error(`${name} has no process id`);
  trackGroup(pid);

  const output = { stdout: "", stderr: "", both: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => {
      output[stream] += text;
      output.both += text;
    });
  }
  const isRunning = () => child.exitCode === null && child.signalCode === null;
  child.once("exit", () => killAndUntrackGroup(pid));
  const exited = once(child, "close").then((): ProcessExit => ({ code: child.exitCode, signal: child.signalCode }));

  async function waitReady(): Promise<RegExpMatchArray | undefined> {
    const deadline = performance.now() + readyTimeoutMs;
    while (isRunning() && performance.now() < deadline) {
      if (ready === undefined) return undefined;
      if (ready instanceof RegExp) {
        const match = output.both.match(ready);
        if (match) return match;
      } else if (await ready()) {
        return undefined;
      }
      // A shorter pause would cost CPU time: a call of `ready` whose connection is refused takes about 1 ms.
      await sleep(50);
    }
    if (isRunning()) throw new Error(`${name} is not ready after ${readyTimeoutMs} ms; output:\n${output.both}`);
    // After the exit, the last output may still be in the pipe.
    const { code, signal } = await exited;
    const reason = `exited with ${signal ?? code} before it was ready`;
    throw new Error(`${name} ${reason}; output:\n${output.both}`);
  }

  async function stop(signal: NodeJS.Signals = "SIGTERM", timeoutMs = 10_000): Promise<ProcessExit> {
    if (!isRunning()) return await exited;
    child.kill(signal);
    const timeoutCancel = new AbortController();
    const timeout = sleep(timeoutMs, undefined, { signal: timeoutCancel.signal }).catch(() => undefined);
    const exit = await Promise.race([exited, timeout]);
    timeoutCancel.abort();
    if (exit !== undefined) return exit;
    child.kill("SIGKILL");
    await exited;
    throw new Error(`${name} was still running ${timeoutMs} ms after ${signal}; output:\n${output.both}`);
  }

  return {
    name,
    pid,
    waitReady,
    stop,
    kill9: () => stop("SIGKILL"),
    signal: (signal) => void child.kill(signal),
    exited,
    isRunning,
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    output: () => output.both,
  };
}
