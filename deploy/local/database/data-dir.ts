import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type FileLock, readInstance, tryLockFile } from "@parley/cli";
import { StartError, systemCode } from "../errors.ts";

/**
 * Locks DATA_DIR. If DATA_DIR does not exist, creates it, accessible only to its owner. Throws StartError if DATA_DIR is not writable or if
 * another process holds the lock.
 */
export async function lockDataDir(dataDir: string): Promise<FileLock> {
  const lock = await tryLockDataDir(dataDir);
  if (lock === undefined) throw new StartError(await describeRunningInstance(dataDir));
  return lock;
}

async function tryLockDataDir(dataDir: string): Promise<FileLock | undefined> {
  try {
    await createDirectory(dataDir, 0o700);
    await access(dataDir, constants.W_OK | constants.X_OK);
    return tryLockFile(join(dataDir, "lock"));
  } catch (cause) {
    const reason = systemCode(cause) ?? "unknown reason";
    throw new StartError(
      `cannot write to ${dataDir} (${reason}): make it writable, or set DATA_DIR to another directory`,
      {
        cause,
      },
    );
  }
}

/** Creates a directory and its parents. mkdir's `recursive` option loops forever below /proc. */
async function createDirectory(dir: string, mode = 0o755): Promise<void> {
  if (await stat(dir).catch(() => undefined)) return;
  if (dirname(dir) !== dir) await createDirectory(dirname(dir));
  await mkdir(dir, { mode }).catch((error: unknown) => {
    // A concurrent start may have created the same directory.
    if (systemCode(error) !== "EEXIST") throw error;
  });
}

async function describeRunningInstance(dataDir: string): Promise<string> {
  const other = await readInstance(dataDir).catch(() => undefined);
  const where = other ? ` as process ${other.pid}, at ${other.edgeUrl}` : "";
  return `Parley is already running on ${dataDir}${where}: stop it first, or use another DATA_DIR and PORT`;
}
