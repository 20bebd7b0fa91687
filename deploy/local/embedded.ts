import { join } from "node:path";
import { processExists } from "@parley/cli";
import { type LocalPostgres, LocalPostgresError, startLocalPostgres } from "@parley/local-postgres";
import { escapeIdentifier } from "pg";
import { type Database, readVersion, withClient } from "./database.ts";
import { StartError } from "./errors.ts";
import { signalIfThere } from "./process-signal.ts";
import type { Notice } from "./supervisor.ts";

export type EmbeddedOptions = {
  dataDir: string;
  port: number;
  password: string;
  notify: (notice: Notice) => void;
};

const DATABASE = "parley";
const CHECK_EVERY_MS = 1_000;

/**
 * Starts the embedded PostgreSQL, or takes over one that outlived its start, and starts it again whenever it ends by
 * itself. Throws StartError when it cannot be started the first time.
 */
export async function startEmbedded(options: EmbeddedOptions): Promise<Database> {
  let server = await startServer(options);
  const version = await createDatabase(server.url);
  const url = new URL(server.url);
  url.pathname = `/${DATABASE}`;

  let recovery: Promise<void> | undefined;
  const watch = setInterval(() => {
    if (recovery || processExists(server.pid)) return;
    recovery = recover().finally(() => {
      recovery = undefined;
    });
  }, CHECK_EVERY_MS);

  async function recover(): Promise<void> {
    const tell = (level: Notice["level"], text: string) => options.notify({ name: "database", level, text });
    tell("error", "ended by itself; starting it again");
    try {
      server = await startServer(options);
      tell("info", "is back");
    } catch (error) {
      tell("error", error instanceof Error ? error.message : "cannot be started again");
    }
  }

  return {
    url: url.href,
    dataDir: server.dataDir,
    description: `PostgreSQL ${version} on 127.0.0.1:${server.port}${server.reused ? ", found running" : ""}`,
    stop: async () => {
      clearInterval(watch);
      await recovery;
      await server.stop();
    },
    abandon: () => {
      clearInterval(watch);
      // Its own "fast" end, which nobody needs to wait for.
      signalIfThere(server.pid, "SIGINT");
    },
  };
}

async function startServer({ dataDir, port, password }: EmbeddedOptions): Promise<LocalPostgres> {
  try {
    return await startLocalPostgres({ dataDir: join(dataDir, "postgres"), port, password });
  } catch (cause) {
    if (cause instanceof LocalPostgresError) throw new StartError(cause.message, { cause });
    throw cause;
  }
}

async function createDatabase(serverUrl: string): Promise<string> {
  return withClient(serverUrl, async (client) => {
    const { rowCount } = await client.query("SELECT 1 FROM pg_database WHERE datname = $1", [DATABASE]);
    if (rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(DATABASE)}`);
    return readVersion(client);
  });
}
