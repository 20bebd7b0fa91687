import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { run } from "./run.ts";

/** A server's first process, as its data directory's lock file tells. */
export interface Postmaster {
  pid: number;
  port: number;
}

/** The live server of this data directory. */
export async function findPostmaster(dataDir: string): Promise<Postmaster | undefined> {
  const lock = await readLock(dataDir);
  return lock && (await isPostmaster(lock.pid, dataDir)) ? lock : undefined;
}

/**
 * Deals with the lock file of a server that was killed, once findPostmaster has found none alive; gives whether there
 * was one. It is left for the next server, which checks by it that nobody still holds the old one's memory; only where
 * its number belongs to another program, or to a dead one that nobody reaps, it is removed, because PostgreSQL would
 * take that for the server.
 */
export async function settleLock(dataDir: string): Promise<boolean> {
  const lock = await readLock(dataDir);
  if (!lock) return false;
  const deadline = performance.now() + 1_000;
  while (exists(lock.pid) && (await commandOf(lock.pid)) === "" && performance.now() < deadline) await sleep(20);
  if (exists(lock.pid)) await rm(join(dataDir, "postmaster.pid"), { force: true });
  return true;
}

/** Disconnects everybody and checkpoints ("fast"); past the deadline leaves the rest to crash recovery ("immediate"). */
export async function stopPostmaster(pid: number, dataDir: string, deadlineMs = 30_000): Promise<void> {
  for (const [signal, waitMs] of [
    ["SIGINT", deadlineMs],
    ["SIGQUIT", 5_000],
    ["SIGKILL", 5_000],
  ] as const) {
    const until = performance.now() + waitMs;
    if (!(await isPostmaster(pid, dataDir))) return;
    sendSignal(pid, signal);
    while (performance.now() < until) {
      if (!(await isPostmaster(pid, dataDir))) return;
      await sleep(20);
    }
  }
}

async function readLock(dataDir: string): Promise<Postmaster | undefined> {
  // Lines: pid, data directory, start time, port, …
  const lines = (await readFile(join(dataDir, "postmaster.pid"), "utf8").catch(() => "")).split("\n");
  const pid = Number(lines[0]);
  return Number.isSafeInteger(pid) && pid > 0 ? { pid, port: Number(lines[3]) } : undefined;
}

/** Whether the process is a server that was started on this data directory. */
async function isPostmaster(pid: number, dataDir: string): Promise<boolean> {
  return exists(pid) && (await commandOf(pid)).includes(` -D ${dataDir} `);
}

/** The process's command line; empty for one that is about to end or that nobody has reaped. */
async function commandOf(pid: number): Promise<string> {
  if (process.platform === "linux") {
    const command = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "");
    return command.replaceAll("\0", " ");
  }
  return await run("ps", ["-ww", "-o", "command=", "-p", String(pid)]).catch(() => "");
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is there, and not ours.
    return codeOf(error) === "EPERM";
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // ESRCH: it has just ended by itself.
    if (codeOf(error) !== "ESRCH") throw error;
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}
