import { access, constants, mkdir, readFile, rename, rm, truncate, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CliError } from "../errors.ts";
import { type FileLock, tryLockFile } from "../local/file-lock.ts";

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

/**
 * Long enough for several waiting commands: if the identity provider does not respond, each command holds the lock for 10 to 20 s, until its
 * requests time out.
 */
const LOCK_TIMEOUT_MS = 60_000;
const LOCK_POLL_MS = 50;
const NOTICE_AFTER_MS = 1_000;
/** More than a login needs: access tokens have a few KiB. */
const RESERVED_BYTES = 64 * 1024;

/** Writes the login file. The caller must hold the lock of withLoginLock. */
export async function writeLogin(path: string, login: Login): Promise<void> {
  await replaceLogin(path, async () => login);
}

/**
 * Replaces the login file with the login that `obtain` returns. The caller must hold the lock of withLoginLock. Reserves disk space first,
 * because `obtain` may use up the stored refresh token, and then the new token must be stored. The replacement is atomic.
 */
export async function replaceLogin(path: string, obtain: () => Promise<Login>): Promise<Login> {
  const draft = `${path}.${process.pid}`;
  const failWrite = (cause: unknown) => {
    throw writeError(path, cause);
  };
  try {
    await reserveDraft(draft).catch(failWrite);
    const login = await obtain();
    await overwriteDraft(draft, `${JSON.stringify(login, undefined, 2)}\n`).catch(failWrite);
    await rename(draft, path).catch(failWrite);
    return login;
  } finally {
    await rm(draft, { force: true });
  }
}

async function reserveDraft(draft: string): Promise<void> {
  await rm(draft, { force: true });
  await writeFile(draft, Buffer.alloc(RESERVED_BYTES), { mode: 0o600, flag: "wx", flush: true });
}

/** Truncates the file after the write, because truncating it first would release the reserved space. */
async function overwriteDraft(draft: string, text: string): Promise<void> {
  await writeFile(draft, text, { flag: "r+" });
  await truncate(draft, Buffer.byteLength(text));
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
    return parseLogin(text);
  } catch (cause) {
    throw new CliError(`${path} is damaged: sign in again with parley login`, { cause });
  }
}

function parseLogin(text: string): Login {
  const login = JSON.parse(text) as Login;
  const { issuer, clientId, parameters, accessToken, expiresAt } = login;
  const isComplete = typeof clientId === "string" && typeof accessToken === "string" && typeof expiresAt === "number";
  if (!isComplete || typeof parameters !== "object" || !URL.canParse(issuer)) throw new TypeError("a field is missing");
  return login;
}

/**
 * Runs `work` while holding a lock, because a refresh token may be valid for one use only. The lock of a killed command ends with its process.
 * Calls `notice` if the wait for the lock takes longer than a second.
 */
export async function withLoginLock<T>(
  path: string,
  notice: (line: string) => void,
  work: () => Promise<T>,
): Promise<T> {
  const lock = await waitForLock(path, notice);
  try {
    return await work();
  } finally {
    lock.release();
  }
}

async function waitForLock(path: string, notice: (line: string) => void): Promise<FileLock> {
  const deadline = performance.now() + LOCK_TIMEOUT_MS;
  const timer = setTimeout(
    () => notice("waiting for another parley command that changes the login …"),
    NOTICE_AFTER_MS,
  );
  try {
    for (;;) {
      const lock = await tryLock(path);
      if (lock !== undefined) return lock;
      if (performance.now() > deadline)
        throw new CliError(`another parley command has locked ${path}.lock for too long: end it, then try again`);
      await sleep(LOCK_POLL_MS);
    }
  } finally {
    clearTimeout(timer);
  }
}

async function tryLock(path: string): Promise<FileLock | undefined> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await access(dirname(path), constants.W_OK | constants.X_OK);
    return tryLockFile(`${path}.lock`);
  } catch (cause) {
    throw writeError(path, cause);
  }
}

function writeError(path: string, cause: unknown): CliError {
  const { code } = cause as NodeJS.ErrnoException;
  return new CliError(`cannot write ${path} (${code}): set PARLEY_LOGIN_FILE to a path in a writable directory`, {
    cause,
  });
}

export async function removeLogin(path: string): Promise<void> {
  await rm(path, { force: true });
}
