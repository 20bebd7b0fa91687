import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalPostgresError, startLocalPostgres } from "@parley/local-postgres";
import { freePort } from "./ports.ts";

export interface TestPostgres {
  /** The superuser's, of the database `postgres`. */
  url: string;
  /** Ends the server and removes its data. */
  stop(): Promise<void>;
}

/**
 * A fast server with data in a temporary directory; with PARLEY_TEST_DATABASE_URL (a superuser's) that server. Vitest's
 * global setup starts one for all tests: use createDatabase in them.
 */
export async function startTestPostgres(): Promise<TestPostgres> {
  const given = process.env.PARLEY_TEST_DATABASE_URL;
  if (given) return { url: given, stop: async () => undefined };
  const dir = await mkdtemp(join(tmpdir(), "parley-test-postgres-"));
  const server = await startOnFreePort(join(dir, "data"));
  const abandon = () => {
    // Only when stop() was not called: no time for an orderly end, and nothing to keep.
    kill(server.pid);
    for (const path of [server.dataDir, dir])
      rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  process.once("exit", abandon);
  return {
    url: server.url,
    stop: async () => {
      process.off("exit", abandon);
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
    // It has ended already.
  }
}
