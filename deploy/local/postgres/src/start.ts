import { setTimeout as sleep } from "node:timers/promises";
import { passwordRejected, probeServer, superuserUrl } from "./answers.ts";
import { ensureDataDir } from "./data-dir.ts";
import { LocalPostgresError } from "./errors.ts";
import { findPlace, type Place } from "./place.ts";
import { clearStaleLock, stopPostmaster } from "./postmaster.ts";
import { findRunning } from "./reuse.ts";
import { assertPortFree, launch } from "./server.ts";

/** Long enough for the crash recovery of a busy database. */
const startTimeoutMs = 120_000;
const killedGraceMs = 3_000;

export interface LocalPostgresOptions {
  /** Kept between starts. Root's data is elsewhere: see the result's `dataDir`. */
  dataDir: string;
  /** The port on 127.0.0.1. A server that is already running keeps its port. */
  port: number;
  /** The superuser's password, set when the data directory is initialised. */
  password: string;
  /** Progress, one line at a time. */
  log?: (line: string) => void;
  /** For tests: no durability, 300 connections instead of 100. */
  fast?: boolean;
}

export interface LocalPostgres {
  /** The superuser's URL of the database `postgres`, with the password. */
  url: string;
  port: number;
  pid: number;
  /** Whether the server was already running from an earlier start. */
  reused: boolean;
  /** PostgreSQL's data directory, with its log in `postgres.log`. */
  dataDir: string;
  /** Disconnects all clients and stops the server. Data is kept. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server on 127.0.0.1 in its own process group. It runs until `stop()`, even after this process exits. Throws only
 * LocalPostgresError.
 */
export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  try {
    return await startServer(await findPlace(options.dataDir), options);
  } catch (cause) {
    if (cause instanceof LocalPostgresError) throw cause;
    const reason = cause instanceof Error ? cause.message.trim().replaceAll(/\s+/g, " ") : "unknown";
    throw new LocalPostgresError(
      "start_failed",
      `The local PostgreSQL did not start (${reason}): fix the cause, or set DATABASE_URL to your own PostgreSQL server.`,
      { cause },
    );
  }
}

/** Same as startLocalPostgres, for a `place` that the caller chose. */
export async function startServer(place: Place, options: LocalPostgresOptions): Promise<LocalPostgres> {
  const { port, password, fast = false, log = () => undefined } = options;
  const deadline = performance.now() + startTimeoutMs;
  const running = await findRunning(place.dataDir, password, deadline);
  if (running) {
    log(`PostgreSQL is already running on 127.0.0.1:${running.port}`);
    return toLocalPostgres(place, { ...running, password, reused: true });
  }
  const wasKilled = await clearStaleLock(place.dataDir);
  await assertPortFree(port, wasKilled ? killedGraceMs : 0);
  await ensureDataDir(place, { password, fast, log });
  const pid = await launchUntilReady(place, { port, password, fast }, deadline);
  log(`PostgreSQL listens on 127.0.0.1:${port}`);
  return toLocalPostgres(place, { pid, port, password, reused: false });
}

async function launchUntilReady(
  place: Place,
  { port, password, fast }: { port: number; password: string; fast: boolean },
  deadline: number,
): Promise<number> {
  for (;;) {
    const server = await launch(place, { port, fast });
    while (server.isRunning() && performance.now() < deadline) {
      const state = await probeServer(superuserUrl(port, password), place.dataDir);
      if (state === "ready") return server.pid;
      if (state === "rejected") {
        await stopPostmaster(server.pid, place.dataDir);
        throw passwordRejected(place.dataDir);
      }
      await sleep(25);
    }
    await stopPostmaster(server.pid, place.dataDir);
    const { error, isTransient } = await server.failure();
    if (!isTransient || performance.now() > deadline) throw error;
    await sleep(200);
  }
}

function toLocalPostgres(
  { dataDir }: Place,
  { pid, port, password, reused }: { pid: number; port: number; password: string; reused: boolean },
): LocalPostgres {
  return { url: superuserUrl(port, password), port, pid, reused, dataDir, stop: () => stopPostmaster(pid, dataDir) };
}
