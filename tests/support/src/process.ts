import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { scrubbedEnv } from "./environment.ts";
import { releaseGroup, trackGroup } from "./leftovers.ts";

/** What Node needs to run a TypeScript file: `startProcess({ command: process.execPath, args: [...nodeFlags, file] })`. */
export const nodeFlags = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"];

export interface ProcessOptions {
  /** For messages. */
  name: string;
  command: string;
  args?: string[];
  /** On top of the environment of the test, from which everything that configures Parley was removed. */
  env?: Record<string, string>;
  cwd?: string;
  /** What its output shows, or what can be asked, once it is ready; by default it is ready at once. */
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
  /** Resolves with the match of a RegExp `ready`; rejects with the output when the process ends or the time runs out. */
  waitReady(): Promise<RegExpMatchArray | undefined>;
  /** Sends a signal and goes on at once. */
  signal(signal: NodeJS.Signals): void;
  /** Sends a signal (SIGTERM) and waits; kills the process and rejects when it has not ended after `timeoutMs` (10 s). */
  stop(signal?: NodeJS.Signals, timeoutMs?: number): Promise<ProcessExit>;
  /** Kills it as `kill -9` does. */
  kill9(): Promise<ProcessExit>;
  /** Resolves when it has ended and all its output was read. */
  exited: Promise<ProcessExit>;
  isRunning(): boolean;
  stdout(): string;
  stderr(): string;
  /** Both, in the order of arrival. */
  output(): string;
}

/** Starts a real process in a group of its own; the group is killed at the end of the test file whatever happens. */
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
  child.once("exit", () => releaseGroup(pid));
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
      await sleep(20);
    }
    const reason = isRunning() ? `is not ready after ${readyTimeoutMs} ms` : "ended before it was ready";
    throw new Error(`${name} ${reason}; it said:\n${output.both}`);
  }

  async function stop(signal: NodeJS.Signals = "SIGTERM", timeoutMs = 10_000): Promise<ProcessExit> {
    if (!isRunning()) return await exited;
    child.kill(signal);
    const late = new AbortController();
    const timeout = sleep(timeoutMs, "late" as const, { signal: late.signal }).catch(() => "late" as const);
    const outcome = await Promise.race([exited, timeout]);
    late.abort();
    if (outcome !== "late") return outcome;
    child.kill("SIGKILL");
    await exited;
    throw new Error(`${name} went on for ${timeoutMs} ms after ${signal}; it said:\n${output.both}`);
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
