import { DatabaseSync } from "node:sqlite";

const SQLITE_BUSY = 5;

export type FileLock = { release: () => void };

/**
 * Locks a file until `release` is called or this process ends, even by SIGKILL. Returns undefined if the file is already locked. Node has no
 * file locks, so this uses an SQLite transaction.
 */
export function tryLockFile(path: string): FileLock | undefined {
  const file = new DatabaseSync(path);
  try {
    file.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (error) {
    file.close();
    if ((error as { errcode?: unknown }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { release: () => file.close() };
}
