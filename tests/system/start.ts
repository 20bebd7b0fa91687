import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeLocalPostgres } from "@parley/local-postgres";
import { freePorts, type RunningProcess, startProcess } from "@parley/test-support";
import { root } from "./processes.ts";

/** A place for one Parley on this machine: its DATA_DIR and its ten ports. */
export type Place = {
  dataDir: string;
  port: number;
  env: Record<string, string>;
  /** Ends a database that was left behind, and removes all data. */
  remove(): Promise<void>;
};

export async function makePlace(): Promise<Place> {
  const dataDir = await mkdtemp(join(tmpdir(), "parley-start-"));
  const [port = 0] = await freePorts(10);
  return {
    dataDir,
    port,
    env: { DATA_DIR: dataDir, PORT: String(port) },
    async remove() {
      await removeLocalPostgres(join(dataDir, "postgres"));
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** `pnpm start` without the package manager in front. */
export function start(place: Place, env: Record<string, string> = {}): Promise<RunningProcess> {
  return startProcess({
    name: "start",
    command: process.execPath,
    args: ["deploy/local/launch.js"],
    cwd: root,
    env: { ...place.env, ...env },
    ready: /Press Ctrl-C to stop/,
    readyTimeoutMs: 90_000,
  });
}

/** Starts Parley and waits until it says that it is ready. */
export async function startReady(place: Place, env?: Record<string, string>): Promise<RunningProcess> {
  const parley = await start(place, env);
  await parley.waitReady();
  return parley;
}

/** The key that the summary shows. */
export function publicKeyOf(parley: RunningProcess): string {
  const [, key] = /Public key\s+(svc_pk_\w+)/.exec(parley.stdout()) ?? [];
  if (key === undefined) throw new Error(`no key in:\n${parley.output()}`);
  return key;
}
