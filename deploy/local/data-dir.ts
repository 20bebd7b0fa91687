import { access, constants, mkdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readInstance } from "@parley/cli";
import { StartError, systemCode } from "./errors.ts";

const SQLITE_BUSY = 5;

export type DataDirLock = { release: () => void };

/**
 * Makes DATA_DIR, for its own user only, and takes it for this process. Throws StartError when it cannot be written, or
 * when another start has it.
 */
export async function takeDataDir(dataDir: string): Promise<DataDirLock> {
  try {
    await makeDirectory(dataDir, 0o700);
    await access(dataDir, constants.W_OK | constants.X_OK);
    return lock(join(dataDir, "lock"));
  } catch (cause) {
    if (isBusy(cause)) throw new StartError(await describeOther(dataDir), { cause });
    const reason = systemCode(cause) ?? "unknown reason";
    throw new StartError(`cannot write to ${dataDir} (${reason}): make it writable, or name another with DATA_DIR`, {
      cause,
    });
  }
}

/** Not by mkdir's own recursion: that never comes back where nobody can make a directory, as below /proc. */
async function makeDirectory(dir: string, mode = 0o755): Promise<void> {
  if (await stat(dir).catch(() => undefined)) return;
  if (dirname(dir) !== dir) await makeDirectory(dirname(dir));
  await mkdir(dir, { mode });
}

/** The system frees it however this process ends; an SQLite file is how Node gets at such a lock. */
function lock(path: string): DataDirLock {
  const file = new DatabaseSync(path);
  try {
    file.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    throw error;
  }
  return { release: () => file.close() };
}

function isBusy(error: unknown): boolean {
  return (error as { errcode?: unknown }).errcode === SQLITE_BUSY;
}

async function describeOther(dataDir: string): Promise<string> {
  const other = await readInstance(dataDir).catch(() => undefined);
  const where = other ? ` as process ${other.pid}, at ${other.edgeUrl}` : "";
  return `Parley already runs on ${dataDir}${where}: stop that one first, or start another with its own DATA_DIR and PORT`;
}
