import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { systemCode } from "../errors.ts";
import { type LogLine, parseLogLine } from "./log-line.ts";
import { signalIfExists } from "./process-signal.ts";
import { waitUntilReady } from "./wait-until-ready.ts";

export type ProcessSpec = {
  name: string;
  /** Node's arguments: flags, script and the script's arguments. */
  args: readonly string[];
  /** The complete environment. */
  env: Readonly<Record<string, string>>;
  /** Returns 200 when the process is ready. */
  readyUrl: string;
  logPath: string;
  stopTimeoutMs: number;
};

export type ProcessRun = {
  /** Resolves to true when the process is ready, or to false if it exits first. */
  ready: Promise<boolean>;
  exited: Promise<ProcessExit>;
  terminate: () => void;
  /** Sends SIGKILL to the process group. */
  kill: () => void;
};

export type ProcessExit = {
  /** `exit <code>`, the name of the signal, or the error code if the process could not be started. */
  status: string;
  lastError: string | undefined;
};

/**
 * Starts a child process in its own process group, so that it does not receive the terminal's signals. An IPC channel lets the child
 * notice when this process is gone.
 */
export function startProcess(spec: ProcessSpec, log: Writable, onLine: (line: LogLine) => void): ProcessRun {
  const child = spawn(process.execPath, spec.args, {
    env: spec.env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
  const exitController = new AbortController();
  let lastError: string | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    stream.pipe(log, { end: false });
    createInterface({ input: stream }).on("line", (text) => {
      const line = parseLogLine(text);
      if (!line) return;
      if (line.level === "error" || line.level === "fatal") lastError = line.text;
      onLine(line);
    });
  }
  const exited = new Promise<ProcessExit>((resolve) => {
    const end = (status: string) => {
      exitController.abort();
      resolve({ status, lastError });
    };
    child.once("close", (code, signal) => end(signal ?? `exit ${code}`));
    child.once("error", (error) => end(systemCode(error) ?? error.message));
  });
  const ready = waitUntilReady(spec.readyUrl, exitController.signal).then(
    () => true,
    () => false,
  );
  return { ready, exited, terminate: () => void child.kill("SIGTERM"), kill: () => killGroup(child) };
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  // After the exit, the PID may belong to another process.
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  signalIfExists(-pid, "SIGKILL");
}
