import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Writable } from "node:stream";
import { systemCode } from "./errors.ts";
import { type LogLine, readLogLine } from "./log-line.ts";
import { signalIfThere } from "./process-signal.ts";
import { untilReady } from "./ready.ts";

export type ProcessSpec = {
  name: string;
  /** Node's arguments: flags, script, and the script's own. */
  args: readonly string[];
  /** All of its environment. */
  env: Readonly<Record<string, string>>;
  /** Answers 200 when the process can do its work. */
  readyUrl: string;
  logPath: string;
  /** How long it may take to end once it is told to. */
  stopTimeoutMs: number;
};

/** One life of a process, from its start to its end. */
export type ProcessLife = {
  /** True once it can do its work; false when it ends before. */
  ready: Promise<boolean>;
  ended: Promise<ProcessDeath>;
  /** Asks it to end. */
  terminate: () => void;
  /** Ends it and whatever it started. */
  kill: () => void;
};

export type ProcessDeath = {
  /** `exit 1`, or the signal's name. */
  how: string;
  /** The last error it told of. */
  lastWords: string | undefined;
};

/**
 * Starts the process in a process group of its own, so that our terminal's signals pass it by, with an IPC channel by
 * which it notices when we are gone. What it prints goes to `log`, and line by line to `onLine`.
 */
export function startLife(spec: ProcessSpec, log: Writable, onLine: (line: LogLine) => void): ProcessLife {
  const child = spawn(process.execPath, spec.args, {
    env: spec.env,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
    detached: true,
  });
  const over = new AbortController();
  let lastWords: string | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    if (!stream) continue;
    stream.pipe(log, { end: false });
    createInterface({ input: stream }).on("line", (text) => {
      const line = readLogLine(text);
      if (!line) return;
      if (line.level === "error" || line.level === "fatal") lastWords = line.text;
      onLine(line);
    });
  }
  const ended = new Promise<ProcessDeath>((resolve) => {
    const end = (how: string) => {
      over.abort();
      resolve({ how, lastWords });
    };
    child.once("close", (code, signal) => end(signal ?? `exit ${code}`));
    child.once("error", (error) => end(systemCode(error) ?? error.message));
  });
  const ready = untilReady(spec.readyUrl, over.signal).then(
    () => true,
    () => false,
  );
  return { ready, ended, terminate: () => void child.kill("SIGTERM"), kill: () => killGroup(child) };
}

function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  // Once it has ended its number may be another's.
  if (pid === undefined || exitCode !== null || signalCode !== null) return;
  signalIfThere(-pid, "SIGKILL");
}
