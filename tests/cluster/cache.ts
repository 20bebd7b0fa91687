import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { ROOT, run } from "./commands.ts";

/** The folder of cached images and binaries. It is outside the repository, so fresh clones share it. */
export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "parley/cluster");

/** Longer than any run, even one that fills the cache. */
const MAX_RUN_MS = 7_200_000;

/**
 * Returns the path of a cached file or folder whose name contains the checksum of the repository's files under `sources`. If the path
 * does not exist, the caller must create it. Deletes the other versions, except those that a run of another checkout may be using.
 */
export async function prepareCachePath(name: string, sources: readonly string[]): Promise<string> {
  const key = `${name}-${await checksum(sources)}`;
  await mkdir(CACHE, { recursive: true });
  const now = new Date();
  if (existsSync(join(CACHE, key))) await utimes(join(CACHE, key), now, now);
  const others = (await readdir(CACHE)).filter((entry) => entry.startsWith(`${name}-`) && entry !== key);
  for (const path of others.map((entry) => join(CACHE, entry))) {
    // A concurrent run may have deleted it.
    const usedAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => undefined,
    );
    if (usedAt !== undefined && now.getTime() - usedAt > MAX_RUN_MS) await rm(path, { recursive: true, force: true });
  }
  return join(CACHE, key);
}

/** Returns the path of a cached folder, and creates it with `fill` if it is missing. Concurrent runs fill folders of their own. */
export async function cacheFolder(
  name: string,
  sources: readonly string[],
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = await prepareCachePath(name, sources);
  if (existsSync(folder)) return folder;
  const partial = `${folder}.partial-${randomUUID()}`;
  await mkdir(partial);
  try {
    await fill(partial);
    await rename(partial, folder).catch((error: unknown) => {
      // A concurrent run may have created the folder.
      if (!existsSync(folder)) throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
  return folder;
}

/** Returns the checksum of the repository's files under these paths, including uncommitted changes. */
async function checksum(paths: readonly string[]): Promise<string> {
  const list = await run("git", [
    "ls-files",
    "--cached",
    "--others",
    "--exclude-standard",
    "--deduplicate",
    "-z",
    ...paths,
  ]);
  const hash = createHash("sha256");
  for (const path of list.split("\0").filter((each) => each !== "" && existsSync(join(ROOT, each)))) {
    hash.update(`${path}\0`).update(await readFile(join(ROOT, path)));
  }
  return hash.digest("hex").slice(0, 16);
}
