import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readInstance } from "@parley/cli";
import { StartError, systemCode } from "../errors.ts";

const SQLITE_BUSY = 5;

export type DataDirLock = { release: () => void };

/**
 * Creates DATA_DIR, accessible only to its owner, and locks it. Throws StartError when it is not writable or when another start holds
 * the lock.
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  try {
    await createDirectory(dataDir, 0o700);
    await access(dataDir, constants.W_OK | constants.X_OK);
    return lockFile(join(dataDir, "lock"));
  } catch (cause) {
    if (isLockHeld(cause)) throw new StartError(await describeRunningInstance(dataDir), { cause });
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

/** Locks a file until this process ends. Node has no file locks of its own, so this uses an SQLite transaction. */
function lockFile(path: string): DataDirLock {
  const file = new DatabaseSync(path);
  try {
    file.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    throw error;
  }
  return { release: () => file.close() };
}

function isLockHeld(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === SQLITE_BUSY;
}

async function describeRunningInstance(dataDir: string): Promise<string> {
  const other = await readInstance(dataDir).catch(() => undefined);
  const where = other ? ` as process ${other.pid}, at ${other.edgeUrl}` : "";
  return `Parley is already running on ${dataDir}${where}: stop it first, or use another DATA_DIR and PORT`;
}
