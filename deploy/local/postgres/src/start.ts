import { setTimeout as sleep } from "node:timers/promises";
import { askServer, passwordRejected, superuserUrl } from "./answers.ts";
import { ensureDataDir } from "./data-dir.ts";
import { LocalPostgresError } from "./errors.ts";
import { findPlace, type Place } from "./place.ts";
import { settleLock, stopPostmaster } from "./postmaster.ts";
import { findRunning } from "./reuse.ts";
import { assertPortFree, launch } from "./server.ts";

/** Crash recovery of a busy database takes its time. */
const startTimeoutMs = 120_000;
const killedGraceMs = 3_000;

export interface LocalPostgresOptions {
  /** Kept between starts. Root's data lies elsewhere: see the result's `dataDir`. */
  dataDir: string;
  /** On 127.0.0.1. A server that is found running keeps its own. */
  port: number;
  /** The superuser's; set when the data directory is made. */
  password: string;
  /** Progress, one line at a time. */
  log?: (line: string) => void;
  /** For tests: no durability, 300 connections instead of 100. */
  fast?: boolean;
}

export interface LocalPostgres {
  /** The superuser's URL of the database `postgres`; holds the password. */
  url: string;
  port: number;
  pid: number;
  /** Whether a server that outlived its starter was found and taken over. */
  reused: boolean;
  /** PostgreSQL's data directory, with its log in `postgres.log`. */
  dataDir: string;
  /** Disconnects everybody and ends the server, reused or not. Data is kept. */
  stop(): Promise<void>;
}

/**
 * A real PostgreSQL server on 127.0.0.1, in a process group of its own, which lives until `stop()` even when this
 * process does not. Every failure is a LocalPostgresError.
 */
export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  try {
    return await startServer(await findPlace(options.dataDir), options);
  } catch (cause) {
    if (cause instanceof LocalPostgresError) throw cause;
    const reason = cause instanceof Error ? cause.message.trim().replaceAll(/\s+/g, " ") : "unknown";
    throw new LocalPostgresError(
      "start_failed",
      `The local PostgreSQL did not start (${reason}): mend that, or set DATABASE_URL to a PostgreSQL of your own.`,
      { cause },
    );
  }
}

/** As startLocalPostgres, with the place of the files decided. */
export async function startServer(place: Place, options: LocalPostgresOptions): Promise<LocalPostgres> {
  const { port, password, fast = false, log = () => undefined } = options;
  const deadline = performance.now() + startTimeoutMs;
  const running = await findRunning(place.dataDir, password, deadline);
  if (running) {
    log(`PostgreSQL already runs on 127.0.0.1:${running.port}`);
    return handle(place, { ...running, password, reused: true });
  }
  const wasKilled = await settleLock(place.dataDir);
  await assertPortFree(port, wasKilled ? killedGraceMs : 0);
  await ensureDataDir(place, { password, fast, log });
  const pid = await launchUntilReady(place, { port, password, fast }, deadline);
  log(`PostgreSQL listens on 127.0.0.1:${port}`);
  return handle(place, { pid, port, password, reused: false });
}

async function launchUntilReady(
  place: Place,
  { port, password, fast }: { port: number; password: string; fast: boolean },
  deadline: number,
): Promise<number> {
  for (;;) {
    const server = await launch(place, { port, fast });
    while (server.isRunning() && performance.now() < deadline) {
      const answer = await askServer(superuserUrl(port, password), place.dataDir);
      if (answer === "ready") return server.pid;
      if (answer === "rejected") {
        await stopPostmaster(server.pid, place.dataDir);
        throw passwordRejected(place.dataDir);
      }
      await sleep(25);
    }
    await stopPostmaster(server.pid, place.dataDir);
    const { error, isPassing } = await server.failure();
    if (!isPassing || performance.now() > deadline) throw error;
    await sleep(200);
  }
}

function handle(
  { dataDir }: Place,
  { pid, port, password, reused }: { pid: number; port: number; password: string; reused: boolean },
): LocalPostgres {
  return { url: superuserUrl(port, password), port, pid, reused, dataDir, stop: () => stopPostmaster(pid, dataDir) };
}
