import { setTimeout as sleep } from "node:timers/promises";
import { ensureDataDir } from "./data-dir.ts";
import { LocalPostgresError } from "./errors.ts";
import { type DataLocation, type Installation, resolveInstallation } from "./installation.ts";
import { clearStaleLock, stopPostmaster } from "./postmaster.ts";
import { passwordRejectedError, probeServer, superuserUrl } from "./probe-server.ts";
import { assertPortFree, launchServer } from "./server.ts";
import { waitForRunningServer } from "./wait-for-running-server.ts";

/** Long enough for the crash recovery of a busy database. */
const START_TIMEOUT_MS = 120_000;
/** How long a killed server's remaining processes may take to release its port. */
const PORT_RELEASE_GRACE_MS = 3_000;

/** If this process is root, the data may be in `sharedDir` instead of `dataDir`: see the result's `dataDir`. */
export interface LocalPostgresOptions extends DataLocation {
  /** The port on 127.0.0.1. A server that is already running keeps its port. */
  port: number;
  /** The superuser's password, set when the data directory is initialised. */
  password: string;
  log?: (line: string) => void;
  /** For tests: no durability, 300 connections instead of 100. */
  fast?: boolean;
}

export interface LocalPostgres {
  /** The URL of the database `postgres`, with the superuser's name and password. */
  url: string;
  port: number;
  pid: number;
  /** Whether the server was already running from an earlier start. */
  isReused: boolean;
  /** PostgreSQL's data directory. Also contains the server's log, `postgres.log`. */
  dataDir: string;
  /** Disconnects all clients and stops the server. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server on 127.0.0.1 in its own process group, or returns the server that already uses the data directory. The
 * server runs until `stop()`, even after this process exits. Throws only LocalPostgresError.
 */
export async function startLocalPostgres(options: LocalPostgresOptions): Promise<LocalPostgres> {
  try {
    return await startServer(await resolveInstallation(options), options);
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

/** Like startLocalPostgres, for an installation that the caller chose. Can throw errors other than LocalPostgresError. */
export async function startServer(installation: Installation, options: LocalPostgresOptions): Promise<LocalPostgres> {
  const { port, password, fast = false, log = () => undefined } = options;
  const deadline = performance.now() + START_TIMEOUT_MS;
  const running = await waitForRunningServer(installation.dataDir, password, deadline);
  if (running) {
    log(`PostgreSQL is already running on 127.0.0.1:${running.port}`);
    return toLocalPostgres(installation, { ...running, password, isReused: true });
  }
  const hadStaleLock = await clearStaleLock(installation.dataDir);
  await assertPortFree(port, hadStaleLock ? PORT_RELEASE_GRACE_MS : 0);
  await ensureDataDir(installation, { password, fast, log });
  const pid = await launchUntilReady(installation, { port, password, fast }, deadline);
  log(`PostgreSQL listens on 127.0.0.1:${port}`);
  return toLocalPostgres(installation, { pid, port, password, isReused: false });
}

async function launchUntilReady(
  installation: Installation,
  { port, password, fast }: { port: number; password: string; fast: boolean },
  deadline: number,
): Promise<number> {
  for (;;) {
    const server = await launchServer(installation, { port, fast });
    while (server.isRunning() && performance.now() < deadline) {
      const state = await probeServer(superuserUrl(port, password), installation.dataDir);
      if (state === "ready") return server.pid;
      if (state === "rejected") {
        await stopPostmaster(server.pid, installation.dataDir);
        throw passwordRejectedError(installation.dataDir);
      }
      await sleep(25);
    }
    await stopPostmaster(server.pid, installation.dataDir);
    const { error, isTransient } = await server.readFailure();
    if (!isTransient || performance.now() > deadline) throw error;
    await sleep(200);
  }
}

function toLocalPostgres(
  { dataDir }: Installation,
  { pid, port, password, isReused }: { pid: number; port: number; password: string; isReused: boolean },
): LocalPostgres {
  return { url: superuserUrl(port, password), port, pid, isReused, dataDir, stop: () => stopPostmaster(pid, dataDir) };
}
