import { createHash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Binaries, makeEnterable, packagedBinaries, sharedBinaries } from "./binaries.ts";
import { unprivilegedOwner } from "./owner.ts";
import type { Owner } from "./run.ts";

/** The files of a server and the user that runs it. */
export interface Place {
  /** PostgreSQL's own data directory. */
  dataDir: string;
  binaries: Binaries;
  /** The user that owns the files and runs the server, if this process is root. */
  owner?: Owner | undefined;
}

const sharedDir = "/var/lib/parley";

/**
 * Returns where a server's files belong. An ordinary user's data is in `dataDir`. The server cannot run as root, and its user may not
 * be able to enter root's `dataDir`, so root's data and binaries are in `/var/lib/parley`. If root starts a server on an ordinary
 * user's data, the data stays in `dataDir` and the server runs as that user.
 */
export async function findPlace(dataDir: string, uid = process.getuid?.()): Promise<Place> {
  const requestedDir = resolve(dataDir);
  const packaged = await packagedBinaries();
  if (uid !== 0) {
    await mkdir(dirname(requestedDir), { recursive: true });
    return { dataDir: requestedDir, binaries: packaged };
  }
  await makeEnterable(sharedDir);
  const binaries = await sharedBinaries(packaged, sharedDir);
  const owner = await ownerOfData(requestedDir);
  if (owner) return { dataDir: requestedDir, binaries, owner };
  const sharedDataDir = rootDataDir(requestedDir);
  return { dataDir: sharedDataDir, binaries, owner: (await ownerOfData(sharedDataDir)) ?? (await unprivilegedOwner()) };
}

/** Returns the directory of root's data, one for each absolute path of `dataDir`. */
export function rootDataDir(dataDir: string): string {
  return join(sharedDir, createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16));
}

async function ownerOfData(dataDir: string): Promise<Owner | undefined> {
  const versionFile = await stat(join(dataDir, "PG_VERSION")).catch(() => undefined);
  return versionFile && versionFile.uid !== 0 ? { uid: versionFile.uid, gid: versionFile.gid } : undefined;
}
