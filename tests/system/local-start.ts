import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeLocalPostgres } from "@parley/local-postgres";
import { arePortsFree, freePorts, type RunningProcess, startProcess } from "@parley/test-support";
import { root } from "./processes.ts";

/** The number of consecutive ports of one instance. deploy/local/processes/ports.ts assigns them. */
const PORT_COUNT = 13;

/** The data directory and the ports of a Parley that `pnpm start` starts. */
export type Instance = {
  dataDir: string;
  /** The public port, which is the first of the PORT_COUNT ports. */
  port: number;
  quotaPort: number;
  databasePort: number;
  /** The sample shop's port. */
  shopPort: number;
  consolePort: number;
  /** Environment variables with which `pnpm start` and the CLI use this instance. */
  env: Record<string, string>;
  /** Stops the database if it still runs, and removes all data. */
  remove(): Promise<void>;
};

/** Creates a data directory and chooses free ports. Starts nothing. */
export async function createInstance(): Promise<Instance> {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-start-"));
  // Shares the tests' cache of compiled modules. With an empty cache the first start takes three times the CPU time.
  const cache = process.env.NODE_COMPILE_CACHE;
  if (cache !== undefined) {
    await mkdir(cache, { recursive: true });
    await symlink(cache, join(dataDir, "cache"));
  }
  const [port = 0] = await freePorts(PORT_COUNT);
  return {
    dataDir,
    port,
    quotaPort: port + 4,
    databasePort: port + 8,
    shopPort: port + 9,
    consolePort: port + 10,
    env: { DATA_DIR: dataDir, PORT: String(port) },
    async remove() {
      await removeLocalPostgres({ dataDir: join(dataDir, "postgres") });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Starts Parley with the command of `pnpm start`, without pnpm. Does not wait until Parley is ready. */
export function startInstance(instance: Instance, env: Record<string, string> = {}): Promise<RunningProcess> {
  return startProcess({
    name: "start",
    command: process.execPath,
    args: ["deploy/local/launch.js"],
    cwd: root,
    env: { ...instance.env, ...env },
    ready: /Press Ctrl-C to stop/,
    readyTimeoutMs: 90_000,
  });
}

export async function startInstanceAndWait(instance: Instance, env?: Record<string, string>): Promise<RunningProcess> {
  const parley = await startInstance(instance, env);
  await parley.waitReady();
  return parley;
}

/** Returns the demo bot's public key, which `pnpm start` prints. */
export function readPublicKey(parley: RunningProcess): string {
  const [, key] = /Public key\s+(svc_pk_\w+)/.exec(parley.stdout()) ?? [];
  if (key === undefined) throw new Error(`no key in:\n${parley.output()}`);
  return key;
}

/** Returns the ports of the instance that are in use. */
export async function portsInUse({ port }: Instance): Promise<number[]> {
  const ports = Array.from({ length: PORT_COUNT }, (_, index) => port + index);
  const free = await Promise.all(ports.map((each) => arePortsFree([each])));
  return ports.filter((_, index) => !free[index]);
}
