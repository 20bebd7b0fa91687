import { readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { AdminService } from "../admin/service.ts";
import { CliError } from "../errors.ts";
import { isThere } from "./is-there.ts";

/** A Parley that runs on this machine, as its start describes it in DATA_DIR. */
export type Instance = {
  /** The process that holds it together. */
  pid: number;
  /** The public address. */
  edgeUrl: string;
  /** The edge's ops port; missing when an older version has written this. */
  edgeOpsUrl?: string;
  /** The ops ports with admin services. */
  adminUrls: Record<AdminService, string>;
  adminToken: string;
  /** What the development issuer writes into tokens; null when a single sign-on issues them. */
  tokens: TokenTerms | null;
};

export type TokenTerms = { issuer: string; audience: string; workspaceClaim: string };

const FILE = "instance.json";

/** Tells the commands of this machine where Parley is; readable by its own user only, since it holds the admin token. */
export async function writeInstance(dataDir: string, instance: Instance): Promise<void> {
  const draft = join(dataDir, `${FILE}.${instance.pid}`);
  await writeFile(draft, `${JSON.stringify(instance, undefined, 2)}\n`, { mode: 0o600 });
  await rename(draft, join(dataDir, FILE));
}

export async function removeInstance(dataDir: string): Promise<void> {
  await rm(join(dataDir, FILE), { force: true });
}

/** The instance of this DATA_DIR; undefined when none was left there. It may have died since: see isRunning. */
export async function readInstance(dataDir: string): Promise<Instance | undefined> {
  const path = join(dataDir, FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError(`cannot read ${path} (${code}): run this as the user that started Parley`, { cause });
  }
  try {
    return JSON.parse(text) as Instance;
  } catch (cause) {
    throw new CliError(`${path} is damaged: stop Parley, remove that file and start again`, { cause });
  }
}

/** Whether the process that holds the instance together is still there. */
export function isRunning(instance: Instance): boolean {
  return isThere(instance.pid);
}
