import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { ROOT, run } from "./commands.ts";

/** The folder of cached images and binaries. It is outside the repository, so that a fresh clone uses it too. */
export const CACHE = join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "parley/cluster");

/**
 * Returns the path of a cached file or folder whose name contains the checksum of these repository files. The caller creates it if it is
 * missing. Deletes its other versions.
 */
export async function cachePath(name: string, sources: readonly string[]): Promise<string> {
  const key = `${name}-${await checksum(sources)}`;
  await mkdir(CACHE, { recursive: true });
  const outdated = (await readdir(CACHE)).filter((entry) => entry.startsWith(`${name}-`) && !entry.startsWith(key));
  for (const entry of outdated) await rm(join(CACHE, entry), { recursive: true });
  return join(CACHE, key);
}

/** Returns the checksum of the repository's files under these paths, with changes that are not committed. */
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
