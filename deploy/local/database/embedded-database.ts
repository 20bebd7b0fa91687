import { join } from "node:path";
import { processExists } from "@parley/cli";
import { type LocalPostgres, LocalPostgresError, startLocalPostgres } from "@parley/local-postgres";
import { escapeIdentifier } from "pg";
import { StartError } from "../errors.ts";
import { signalIfExists } from "../processes/process-signal.ts";
import type { Notice } from "../processes/supervisor.ts";
import { type Database, readVersion, withClient } from "./database.ts";

export type EmbeddedDatabaseOptions = {
  dataDir: string;
  port: number;
  password: string;
  notify: (notice: Notice) => void;
};

const DATABASE_NAME = "parley";
const CHECK_INTERVAL_MS = 1_000;
/** The delay after the first failed restart. */
const FIRST_RETRY_MS = 2_000;
const MAX_RETRY_MS = 30_000;

/**
 * Starts the embedded PostgreSQL, or reuses a server that is still running from an earlier start. Restarts the server when it exits, with
 * exponential backoff while restarts fail. Throws StartError when the first start fails.
 */
export async function startEmbeddedDatabase(options: EmbeddedDatabaseOptions): Promise<Database> {
  let server = await startServer(options);
  const version = await ensureDatabase(server);
  const url = new URL(server.url);
  url.pathname = `/${DATABASE_NAME}`;

  // Remembers the exit, because afterwards the PID may belong to another process.
  let hasExited = false;
  let recovery: Promise<void> | undefined;
  let failures = 0;
  let nextRestartAtMs = 0;
  const exitCheckTimer = setInterval(() => {
    hasExited ||= !processExists(server.pid);
    if (recovery || !hasExited || performance.now() < nextRestartAtMs) return;
    recovery = recover().finally(() => {
      recovery = undefined;
    });
  }, CHECK_INTERVAL_MS);

  async function recover(): Promise<void> {
    const notify = (level: Notice["level"], text: string) => options.notify({ name: "database", level, text });
    if (failures === 0) notify("error", "exited unexpectedly, restarting");
    try {
      server = await startServer(options);
      hasExited = false;
      failures = 0;
      notify("info", "restarted");
    } catch (error) {
      const delayMs = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** failures++);
      nextRestartAtMs = performance.now() + delayMs;
      const reason = error instanceof Error ? error.message : "unknown reason";
      notify("error", `restart failed, retrying in ${delayMs / 1_000} s: ${reason}`);
    }
  }

  return {
    url: url.href,
    dataDir: server.dataDir,
    description: `PostgreSQL ${version} on 127.0.0.1:${server.port}${server.isReused ? "; was already running" : ""}`,
    stop: async () => {
      clearInterval(exitCheckTimer);
      await recovery;
      await server.stop();
    },
    stopNow: () => {
      clearInterval(exitCheckTimer);
      // PostgreSQL's fast shutdown.
      if (!hasExited) signalIfExists(server.pid, "SIGINT");
    },
  };
}

async function startServer({ dataDir, port, password }: EmbeddedDatabaseOptions): Promise<LocalPostgres> {
  try {
    return await startLocalPostgres({ dataDir: join(dataDir, "postgres"), port, password });
  } catch (cause) {
    if (cause instanceof LocalPostgresError) throw new StartError(cause.message, { cause });
    throw cause;
  }
}

/** Creates the database if it does not exist. Returns the server version. On an error, stops the server and throws StartError. */
async function ensureDatabase(server: LocalPostgres): Promise<string> {
  try {
    return await withClient(server.url, async (client) => {
      const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [DATABASE_NAME]);
      if (rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(DATABASE_NAME)}`);
      return readVersion(client);
    });
  } catch (cause) {
    await server.stop();
    const reason = cause instanceof Error ? cause.message : "unknown reason";
    throw new StartError(`the embedded PostgreSQL did not open its database (${reason}): start Parley again`, {
      cause,
    });
  }
}
