import { mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../errors.ts";

/** A member's login: the tokens, and what a refresh needs. */
export type Login = {
  issuer: string;
  clientId: string;
  /** Parameters of the token requests, such as scope, audience and resource. */
  parameters: Record<string, string>;
  accessToken: string;
  refreshToken?: string;
  /** Seconds since 1970. */
  expiresAt: number;
};

/** Longer than a refresh takes. An older lock belongs to a killed command. */
const LOCK_TIMEOUT_MS = 30_000;
const LOCK_POLL_MS = 50;

/**
 * Writes the login file; call it within withLoginLock. Only its owner can read the file, because it holds the tokens. A reader never sees a
 * half-written file.
 */
export async function writeLogin(path: string, login: Login): Promise<void> {
  const draft = `${path}.${process.pid}`;
  try {
    await rm(draft, { force: true });
    await writeFile(draft, `${JSON.stringify(login, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(draft, path);
  } catch (cause) {
    throw writeError(path, cause);
  }
}

/** Reads the login file; undefined if there is none. */
export async function readLogin(path: string): Promise<Login | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError(`cannot read ${path} (${code}): check its permissions`, { cause });
  }
  try {
    return JSON.parse(text) as Login;
  } catch (cause) {
    throw new CliError(`${path} is damaged: sign in again with parley login`, { cause });
  }
}

/**
 * Runs `work` while holding a lock file. So only one command at a time changes the login file or uses the refresh token, which may be valid
 * only once. Removes the lock of a killed command.
 */
export async function withLoginLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    while (!(await createLock(lock))) {
      const { mtimeMs = Date.now() } = (await stat(lock).catch(undefinedIfMissing)) ?? {};
      if (Date.now() - mtimeMs > LOCK_TIMEOUT_MS) await rm(lock, { force: true });
      await sleep(LOCK_POLL_MS);
    }
  } catch (cause) {
    throw writeError(path, cause);
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

/** Creates the lock file. Returns false if it exists. */
async function createLock(lock: string): Promise<boolean> {
  try {
    await writeFile(lock, "", { mode: 0o600, flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  }
}

function writeError(path: string, cause: unknown): CliError {
  const { code } = cause as NodeJS.ErrnoException;
  return new CliError(`cannot write ${path} (${code}): set PARLEY_LOGIN_FILE to a path in a writable directory`, {
    cause,
  });
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

export async function removeLogin(path: string): Promise<void> {
  await rm(path, { force: true });
}
