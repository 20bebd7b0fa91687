import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StartError, systemCode } from "./errors.ts";

/** `ensureSecrets` stores the secrets in DATA_DIR, in a file that only the file's owner can read. */
export type Secrets = {
  adminToken: string;
  internalToken: string;
  /** Encrypts the session cookies of the console. */
  sessionSecret: string;
  /** Encrypts the webhooks' secrets. */
  encryptionKey: string;
  /** The password of the embedded database's superuser. */
  databasePassword: string;
  /** The passwords of the three services' database roles. */
  conversationPassword: string;
  quotaPassword: string;
  llmPassword: string;
};

const SECRETS_FILE = "secrets.json";
const SECRET_BYTES = 24;

/** Tokens from the environment, which are used instead of the stored tokens. */
export type TokenOverrides = { adminToken: string | undefined; internalToken: string | undefined };

/** Reads the secrets and creates missing ones. Throws StartError when the file is damaged or cannot be read. */
export async function ensureSecrets(dataDir: string, overrides: TokenOverrides): Promise<Secrets> {
  const path = join(dataDir, SECRETS_FILE);
  const stored = await readSecrets(path);
  const secrets: Secrets = {
    adminToken: createSecret(),
    internalToken: createSecret(),
    sessionSecret: createSecret(),
    encryptionKey: createSecret(),
    databasePassword: createSecret(),
    conversationPassword: createSecret(),
    quotaPassword: createSecret(),
    llmPassword: createSecret(),
    ...stored,
  };
  if (Object.keys(stored).length < Object.keys(secrets).length) {
    // If the file were written in place, a crash could lose the database's passwords.
    await writeFile(`${path}.new`, `${JSON.stringify(secrets, undefined, 2)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  return {
    ...secrets,
    adminToken: overrides.adminToken ?? secrets.adminToken,
    internalToken: overrides.internalToken ?? secrets.internalToken,
  };
}

async function readSecrets(path: string): Promise<Partial<Secrets>> {
  try {
    const stored: unknown = JSON.parse(await readFile(path, "utf8"));
    if (typeof stored !== "object" || stored === null || Array.isArray(stored)) throw new Error("not an object");
    return stored;
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return {};
    const reason = systemCode(cause) ?? "damaged file";
    throw new StartError(
      `cannot read ${path} (${reason}): restore it from a backup, or start afresh with another DATA_DIR`,
      {
        cause,
      },
    );
  }
}

function createSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}
