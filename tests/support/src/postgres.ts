import { randomBytes } from "node:crypto";
import { existsSync, rmSync } from "node:fs";
import { access, constants, lstat, mkdtemp, readdir, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  type LocalPostgres,
  LocalPostgresError,
  type LocalPostgresOptions,
  processExists,
  removeLocalPostgres,
  startLocalPostgres,
} from "@parley/local-postgres";
import { freePort } from "./ports.ts";

export interface TestPostgres {
  /** URL of the database `postgres` for a superuser. */
  url: string;
  /**
   * Sends SIGKILL to the postmaster and does not wait for its exit. The server's other processes then exit, which closes the clients'
   * connections. Rejects for the server of PARLEY_TEST_DATABASE_URL.
   */
  kill9(): Promise<void>;
  /** Stops the server if it runs, and starts it again on the same port with its data. Rejects for the server of PARLEY_TEST_DATABASE_URL. */
  restart(): Promise<void>;
  /** Stops the server and removes its data. Does nothing for the server of PARLEY_TEST_DATABASE_URL. */
  stop(): Promise<void>;
}

/** A file system in memory on Linux. */
const MEMORY_DIR = "/dev/shm";
/** Twice what the databases of a test run take. */
const MIN_FREE_MEMORY_BYTES = 4 * 2 ** 30;

/**
 * Starts a PostgreSQL server without durability, with its data in a temporary directory. If PARLEY_TEST_DATABASE_URL is set to a superuser's
 * URL, returns the existing server at that URL instead. Most tests call createDatabase, which uses the server of the global setup.
 *
 * With `preferMemory`, the data is in memory if enough memory is free. Copying and dropping a database then takes less CPU time.
 * `password` is the superuser's; by default a random one.
 */
export async function startTestPostgres({
  preferMemory = false,
  password = randomBytes(16).toString("hex"),
} = {}): Promise<TestPostgres> {
  const existingUrl = process.env.PARLEY_TEST_DATABASE_URL;
  if (existingUrl) return useExistingPostgres(existingUrl);
  await removeServersOfKilledRuns();
  const parent = preferMemory && (await canUseMemory()) ? MEMORY_DIR : tmpdir();
  const dir = await mkdtemp(join(parent, `parley-test-postgres-${process.pid}-`));
  const options = { ...locateData(dir), password, fast: true };
  let server = await startOnFreePort(options);
  // Runs if the process exits before a call of stop(). Exit handlers must be synchronous.
  const killAndRemove = () => {
    kill(server.pid);
    waitForShutdown(server);
    for (const path of [server.dataDir, dir])
      rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  process.once("exit", killAndRemove);
  return {
    url: server.url,
    kill9: async () => kill(server.pid, "SIGKILL"),
    restart: async () => {
      await server.stop();
      server = await startLocalPostgres({ ...options, port: server.port });
    },
    stop: async () => {
      process.off("exit", killAndRemove);
      await server.stop();
      for (const path of [server.dataDir, dir]) await rm(path, { recursive: true, force: true });
    },
  };
}

/**
 * Returns where the data of the server of `dir` is. If this process is root, an unprivileged user runs the server. That user can enter MEMORY_DIR,
 * but perhaps not tmpdir(), so the data is then outside `dir`.
 */
function locateData(dir: string): Pick<LocalPostgresOptions, "dataDir" | "sharedDir"> {
  const dataDir = join(dir, "data");
  return dirname(dir) === MEMORY_DIR ? { dataDir, sharedDir: dir } : { dataDir };
}

/** Returns whether MEMORY_DIR exists, this user can write to it, and enough memory is free. */
async function canUseMemory(): Promise<boolean> {
  try {
    await access(MEMORY_DIR, constants.W_OK);
    const { bavail, bsize } = await statfs(MEMORY_DIR);
    return Math.min(bavail * bsize, process.availableMemory()) >= MIN_FREE_MEMORY_BYTES;
  } catch {
    return false;
  }
}

/** Stops and removes the servers that this user's killed test runs left. */
async function removeServersOfKilledRuns(): Promise<void> {
  for (const parent of [tmpdir(), MEMORY_DIR]) {
    for (const name of await readdir(parent).catch(() => [])) {
      const [, pid] = /^parley-test-postgres-(\d+)-/.exec(name) ?? [];
      if (pid === undefined || processExists(Number(pid))) continue;
      const dir = join(parent, name);
      // lstat, because another user could have created a link to a directory that must not change.
      const found = await lstat(dir).catch(() => undefined);
      if (!found?.isDirectory() || found.uid !== process.getuid?.()) continue;
      await removeLocalPostgres(locateData(dir));
      await rm(dir, { recursive: true, force: true });
    }
  }
}

function useExistingPostgres(url: string): TestPostgres {
  const refuse = () =>
    Promise.reject(new Error("the server of PARLEY_TEST_DATABASE_URL cannot be killed or restarted"));
  return { url, kill9: refuse, restart: refuse, stop: async () => undefined };
}

async function startOnFreePort(options: Omit<LocalPostgresOptions, "port">): Promise<LocalPostgres> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startLocalPostgres({ ...options, port: await freePort() });
    } catch (error) {
      const isTaken = error instanceof LocalPostgresError && error.code === "port_taken";
      if (!isTaken || attempt === 3) throw error;
    }
  }
}

/**
 * Blocks until the server has exited or has removed its lock file, which is its last write. Gives up after five seconds. Needs both checks: a
 * killed server leaves its lock file, and an exited server that is a child of this process stays a zombie while this process blocks.
 */
function waitForShutdown({ pid, dataDir }: LocalPostgres): void {
  const deadline = performance.now() + 5_000;
  while (processExists(pid) && existsSync(join(dataDir, "postmaster.pid")) && performance.now() < deadline)
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
}

/** SIGQUIT is PostgreSQL's immediate shutdown. */
function kill(pid: number, signal: NodeJS.Signals = "SIGQUIT"): void {
  try {
    process.kill(pid, signal);
  } catch {
    // The server has already exited.
  }
}
