import { createHash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Binaries, createTraversableDir, ensureSharedBinaries, findPackagedBinaries } from "./binaries.ts";
import { ensureUnprivilegedUser } from "./owner.ts";
import type { SystemUser } from "./run.ts";

/** The files of a server and the user that runs it. */
export interface Installation {
  /** PostgreSQL's own data directory. */
  dataDir: string;
  binaries: Binaries;
  /** The user that owns the files and runs the server, if this process is root. */
  owner?: SystemUser | undefined;
}

const SHARED_DIR = "/var/lib/parley";

/**
 * Returns the files and the user of a server. Creates missing parent directories and, as root, the shared copy of the binaries and the
 * server's user. An ordinary user's data is in `dataDir`. The server cannot run as root, and its user may not be able to enter root's `dataDir`, so root's data and binaries are in `/var/lib/parley`. If root starts a server on an ordinary
 * user's data, the data stays in `dataDir` and the server runs as that user.
 */
export async function resolveInstallation(dataDir: string, uid = process.getuid?.()): Promise<Installation> {
  const requestedDir = resolve(dataDir);
  const packaged = await findPackagedBinaries();
  if (uid !== 0) {
    await mkdir(dirname(requestedDir), { recursive: true });
    return { dataDir: requestedDir, binaries: packaged };
  }
  await createTraversableDir(SHARED_DIR);
  const binaries = await ensureSharedBinaries(packaged, SHARED_DIR);
  const owner = await findDataOwner(requestedDir);
  if (owner) return { dataDir: requestedDir, binaries, owner };
  const sharedDataDir = rootDataDir(requestedDir);
  return {
    dataDir: sharedDataDir,
    binaries,
    owner: (await findDataOwner(sharedDataDir)) ?? (await ensureUnprivilegedUser()),
  };
}

/** Returns the directory of root's data, one for each absolute path of `dataDir`. */
export function rootDataDir(dataDir: string): string {
  return join(SHARED_DIR, createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16));
}

async function findDataOwner(dataDir: string): Promise<SystemUser | undefined> {
  const versionFile = await stat(join(dataDir, "PG_VERSION")).catch(() => undefined);
  return versionFile && versionFile.uid !== 0 ? { uid: versionFile.uid, gid: versionFile.gid } : undefined;
}
