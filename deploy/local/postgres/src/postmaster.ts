import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "./run.ts";

/** A server's main process, as recorded in its lock file. */
export interface Postmaster {
  pid: number;
  port: number;
}

/** Returns the running server of a data directory. */
export async function findPostmaster(dataDir: string): Promise<Postmaster | undefined> {
  const lock = await readLockFile(dataDir);
  return lock && (await isPostmaster(lock.pid, dataDir)) ? lock : undefined;
}

/**
 * Removes a killed server's lock file if its PID now belongs to another program or to a zombie, because PostgreSQL would mistake that
 * process for the server. Otherwise keeps the file: the next server reads it to check that no process still uses the old shared memory.
 * Returns whether there was a lock file. The caller must first check with findPostmaster that no server runs.
 */
export async function clearStaleLock(dataDir: string): Promise<boolean> {
  const lock = await readLockFile(dataDir);
  if (!lock) return false;
  // A process without a command line is exiting or a zombie. If it is exiting, it disappears within a second.
  const deadline = performance.now() + 1_000;
  while (processExists(lock.pid) && (await readCommandLine(lock.pid)) === "" && performance.now() < deadline)
    await sleep(20);
  if (processExists(lock.pid)) await rm(join(dataDir, "postmaster.pid"), { force: true });
  return true;
}

/**
 * Stops the server with a fast shutdown. If the server is still running after `fastShutdownTimeoutMs`, uses an immediate shutdown and then
 * SIGKILL. After an immediate shutdown or SIGKILL, the next start needs crash recovery.
 */
export async function stopPostmaster(pid: number, dataDir: string, fastShutdownTimeoutMs = 30_000): Promise<void> {
  for (const [signal, waitMs] of [
    ["SIGINT", fastShutdownTimeoutMs],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    const deadline = performance.now() + waitMs;
    if (!(await isPostmaster(pid, dataDir))) return;
    sendSignal(pid, signal);
    while (performance.now() < deadline) {
      if (!(await isPostmaster(pid, dataDir))) return;
      await sleep(20);
    }
  }
}

async function readLockFile(dataDir: string): Promise<Postmaster | undefined> {
  // Lines: pid, data directory, start time, port, …
  const lines = (await readFile(join(dataDir, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  const pid = Number(lines[0]);
  return Number.isSafeInteger(pid) && pid > 0 ? { pid, port: Number(lines[3]) } : undefined;
}

async function isPostmaster(pid: number, dataDir: string): Promise<boolean> {
  return processExists(pid) && (await readCommandLine(pid)).includes(` -D ${dataDir} `);
}

/** Returns the process's command line; empty for an exiting process or a zombie. */
async function readCommandLine(pid: number): Promise<string> {
  if (process.platform === "linux") {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return command.replaceAll("\0", " ");
  }
  return await run("ps", ["-ww", "-o", "command=", "-p", String(pid)]).catch(() => "");
}

export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    return systemCode(error) === "EPERM";
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // ESRCH: the process has just exited.
    if (systemCode(error) !== "ESRCH") throw error;
  }
}

function systemCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
