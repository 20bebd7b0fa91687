import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "pg";
import { afterAll, afterEach, beforeAll, beforeEach } from "vitest";
import { removeLocalPostgres } from "../remove.ts";
import { type LocalPostgres, startLocalPostgres } from "../start.ts";

const password = "p@ss/word";
export const isRoot = process.getuid?.() === 0;

/** Gives each test a free port, and stops the test's servers afterwards. */
export function useLocalPostgres() {
  const local = {} as { dir: string; dataDir: string; port: number };
  const running: LocalPostgres[] = [];

  beforeEach(async () => {
    local.port = await findFreePort();
  });
  afterEach(async () => {
    for (const server of running.splice(0)) await server.stop();
  });

  /** Gives the tests of a suite one data directory, because initialising it takes more CPU time than the rest of a test. */
  function useSuiteDataDir(): void {
    beforeAll(async () => {
      local.dir = await mkdtemp(join(tmpdir(), "parley-local-postgres-"));
      local.dataDir = join(local.dir, "data");
    });
    afterAll(async () => {
      await removeLocalPostgres(local);
      await rm(local.dir, { recursive: true });
    });
  }

  async function start(options: { port?: number; password?: string; fast?: boolean } = {}): Promise<LocalPostgres> {
    const { dataDir, port } = local;
    const server = await startLocalPostgres({ dataDir, port, password, fast: true, ...options });
    running.push(server);
    return server;
  }

  /**
   * Runs starter.fixture.ts, which starts a server. The script and the server have separate process groups. `killStarter` sends a signal to the
   * script's group, so the server survives. With `uid` and `gid`, the script switches to this user before it starts the server, and stops
   * the server before this function returns.
   */
  async function startInChildProcess(user: { uid?: number; gid?: number } = {}) {
    const { dataDir, port } = local;
    const script = fileURLToPath(new URL("../starter.fixture.ts", import.meta.url));
    const child = spawn(
      process.execPath,
      ["--experimental-strip-types", script, JSON.stringify({ dataDir, port, password, ...user })],
      { detached: true, stdio: ["ignore", "pipe", "inherit"] },
    );
    const exited = once(child, "exit");
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const killStarter = async (signal: NodeJS.Signals) => {
      process.kill(-(child.pid ?? 0), signal);
      await exited;
    };
    return { ...(JSON.parse(line.toString()) as { url: string; pid: number }), killStarter };
  }

  return Object.assign(local, { useSuiteDataDir, start, startInChildProcess });
}

/** Returns a free port below 10,000. Other tests use higher ports, so none of them takes this port before the server listens. */
async function findFreePort(): Promise<number> {
  for (;;) {
    const candidate = randomInt(7_000, 9_900);
    const server = createServer().listen(candidate, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    await once(server.close(), "close");
    return candidate;
  }
}

export async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}
