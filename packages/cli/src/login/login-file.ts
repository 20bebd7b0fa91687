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

/** Writes the login file. Only its owner can read it, because it holds the tokens. A reader never sees a half-written file. */
export async function writeLogin(path: string, login: Login): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const draft = `${path}.${process.pid}`;
  await rm(draft, { force: true });
  await writeFile(draft, `${JSON.stringify(login, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
  await rename(draft, path);
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
 * Runs `work` while holding a lock file. So only one command at a time uses the refresh token, which may be valid only once. Removes the
 * lock of a killed command.
 */
export async function withLoginLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  const lock = `${path}.lock`;
  for (; ; await sleep(LOCK_POLL_MS)) {
    try {
      await writeFile(lock, "", { mode: 0o600, flag: "wx" });
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      const { mtimeMs = Date.now() } = (await stat(lock).catch(undefinedIfMissing)) ?? {};
      if (Date.now() - mtimeMs > LOCK_TIMEOUT_MS) await rm(lock, { force: true });
    }
  }
  try {
    return await work();
  } finally {
    await rm(lock, { force: true });
  }
}

function undefinedIfMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT") throw error;
}

export async function removeLogin(path: string): Promise<void> {
  await rm(path, { force: true });
}
