import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { SelectingService } from "../admin/service.ts";
import { CliError } from "../errors.ts";
import { processExists } from "./process-exists.ts";

/** An installation on this machine, as the start command describes it in DATA_DIR/instance.json. */
export type Instance = {
  /** The supervisor's process ID. */
  pid: number;
  edgeUrl: string;
  /** The URL of the edge's ops port. */
  edgeOpsUrl: string;
  /** For each other service with admin RPCs, the URL of its ops port. */
  adminUrls: Record<SelectingService, string>;
  adminToken: string;
  internalToken: string;
  /** The settings of the development issuer; null if an identity provider issues the tokens. */
  issuerSettings: IssuerSettings | null;
};

/** The `iss` and `aud` of the development issuer's tokens, and the name of the claim with the workspace ID. */
export type IssuerSettings = { issuer: string; audience: string; workspaceClaim: string };

const FILE = "instance.json";

/** Writes instance.json. Only the file's owner can read the file, because it contains the admin token. */
export async function writeInstance(dataDir: string, instance: Instance): Promise<void> {
  const draft = join(dataDir, `${FILE}.${instance.pid}`);
  await writeFile(draft, `${JSON.stringify(instance, undefined, 2)}\n`, { mode: 0o600 });
  await rename(draft, join(dataDir, FILE));
}

export async function removeInstance(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE), { force: true });
}

/** Returns undefined if there is no instance file. The file remains if the supervisor is killed, so call isRunning too. */
export async function readInstance(dataDir: string): Promise<Instance | undefined> {
  const path = join(dataDir, FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError(`cannot read ${path} (${code}): run this command as the user who started Parley`, { cause });
  }
  try {
    return JSON.parse(text) as Instance;
  } catch (cause) {
    throw new CliError(`${path} is damaged: stop Parley, delete the file and start Parley again`, { cause });
  }
}

export function isRunning(instance: Instance): boolean {
  return processExists(instance.pid);
}
