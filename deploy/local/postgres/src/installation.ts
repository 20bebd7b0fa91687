import { createHash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Binaries, createTraversableDir, ensureSharedBinaries, findPackagedBinaries } from "./binaries.ts";
import type { SystemUser } from "./run.ts";
import { ensureUnprivilegedUser } from "./unprivileged-user.ts";

export interface Installation {
  dataDir: string;
  binaries: Binaries;
  /** The user that owns the files and runs the server, if this process is root. */
  owner?: SystemUser | undefined;
}

/** Where the copy of the binaries is if this process is root, and by default the data. */
const SHARED_DIR = "/var/lib/parley";

export interface DataLocation {
  dataDir: string;
  /** The directory that replaces `dataDir`'s parent if this process is root. By default `/var/lib/parley`. */
  sharedDir?: string;
}

/**
 * Returns the files of a server and the user that runs it. Creates missing parent directories.
 * - If this process runs as an ordinary user, the server runs as that user, with the data in `dataDir`.
 * - If this process runs as root, the server runs as an unprivileged user, because PostgreSQL refuses to run as root. The unprivileged user may
 *   not be able to enter `dataDir`, so the data is in `sharedDir`, and a copy of the binaries in `/var/lib/parley`. Creates the user and the
 *   copy if missing.
 * - If this process runs as root but `dataDir` already has an ordinary user's data, the server runs as that user with this data and the
 *   copied binaries.
 */
export async function resolveInstallation(
  { dataDir, sharedDir = SHARED_DIR }: DataLocation,
  uid = process.getuid?.(),
): Promise<Installation> {
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
  await createTraversableDir(sharedDir);
  const sharedDataDir = toSharedDataDir(requestedDir, sharedDir);
  return {
    dataDir: sharedDataDir,
    binaries,
    owner: (await findDataOwner(sharedDataDir)) ?? (await ensureUnprivilegedUser()),
  };
}

/** Returns the directory in `sharedDir` that replaces `dataDir` if this process runs as root and `dataDir` has no ordinary user's data. */
export function toSharedDataDir(dataDir: string, sharedDir = SHARED_DIR): string {
  return join(sharedDir, createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16));
}

async function findDataOwner(dataDir: string): Promise<SystemUser | undefined> {
  const versionFile = await stat(join(dataDir, "PG_VERSION")).catch(() => undefined);
  return versionFile && versionFile.uid !== 0 ? { uid: versionFile.uid, gid: versionFile.gid } : undefined;
}
