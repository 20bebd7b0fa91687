import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalPostgresError, startLocalPostgres } from "@parley/local-postgres";
import { freePort } from "./ports.ts";

export interface TestPostgres {
  /** URL of the database `postgres` for a superuser. */
  url: string;
  /** Stops the server and removes its data. */
  stop(): Promise<void>;
}

/**
 * Starts a PostgreSQL server without durability, with its data in a temporary directory. If PARLEY_TEST_DATABASE_URL has a superuser's
 * URL, returns that server instead. Most tests call createDatabase, which uses the server of the global setup.
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const existingUrl = process.env.PARLEY_TEST_DATABASE_URL;
  if (existingUrl) return { url: existingUrl, stop: async () => undefined };
  const dir = await mkdtemp(join(tmpdir(), "parley-test-postgres-"));
  const server = await startOnFreePort(join(dir, "data"));
  const killAndRemove = () => {
    // Runs if the process exits before a call of stop(). Exit handlers must be synchronous.
    kill(server.pid);
    for (const path of [server.dataDir, dir])
      rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  process.once("exit", killAndRemove);
  return {
    url: server.url,
    stop: async () => {
      process.off("exit", killAndRemove);
      await server.stop();
      for (const path of [server.dataDir, dir]) await rm(path, { recursive: true, force: true });
    },
  };
}

async function startOnFreePort(dataDir: string) {
  const password = randomBytes(16).toString("hex");
  for (let attempt = 1; ; attempt++) {
    try {
      return await startLocalPostgres({ dataDir, password, port: await freePort(), fast: true });
    } catch (error) {
      const isTaken = error instanceof LocalPostgresError && error.code === "port_taken";
      if (!isTaken || attempt === 3) throw error;
    }
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGQUIT");
  } catch {
    // The server has already exited.
  }
}
