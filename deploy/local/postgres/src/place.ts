import { createHash } from "node:crypto";
import { mkdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { type Binaries, makeEnterable, packagedBinaries, sharedBinaries } from "./binaries.ts";
import { unprivilegedOwner } from "./owner.ts";
import type { Owner } from "./run.ts";

/** Where a server's files are and who runs it. */
export interface Place {
  /** PostgreSQL's own data directory. */
  dataDir: string;
  binaries: Binaries;
  /** Set when we are root: the server's files belong to this user, and it runs as this user. */
  owner?: Owner | undefined;
}

const sharedDir = "/var/lib/parley";

/**
 * For an ordinary user the data lies right in `dataDir`. Root's `dataDir` may be closed to the user that the server
 * must run as, so its data and binaries lie below `/var/lib/parley`; data that an ordinary user made stays theirs.
 */
export async function findPlace(dataDir: string, uid = process.getuid?.()): Promise<Place> {
  const wanted = resolve(dataDir);
  const packaged = await packagedBinaries();
  if (uid !== 0) {
    await mkdir(dirname(wanted), { recursive: true });
    return { dataDir: wanted, binaries: packaged };
  }
  await makeEnterable(sharedDir);
  const binaries = await sharedBinaries(packaged, sharedDir);
  const own = await ownerOfData(wanted);
  if (own) return { dataDir: wanted, binaries, owner: own };
  const rooted = rootDataDir(wanted);
  return { dataDir: rooted, binaries, owner: (await ownerOfData(rooted)) ?? (await unprivilegedOwner()) };
}

/** Where root's data for `dataDir` is: one directory for each absolute path. */
export function rootDataDir(dataDir: string): string {
  return join(sharedDir, createHash("sha256").update(resolve(dataDir)).digest("hex").slice(0, 16));
}

async function ownerOfData(dataDir: string): Promise<Owner | undefined> {
  const made = await stat(join(dataDir, "PG_VERSION")).catch(() => undefined);
  return made && made.uid !== 0 ? { uid: made.uid, gid: made.gid } : undefined;
}
