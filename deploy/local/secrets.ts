import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { StartError, systemCode } from "./errors.ts";

/** What is made once for a DATA_DIR and kept there, readable by its own user only. */
export type Secrets = {
  adminToken: string;
  internalToken: string;
  /** The embedded database's superuser. */
  databasePassword: string;
  conversationPassword: string;
  quotaPassword: string;
  llmPassword: string;
};

const FILE = "secrets.json";
const SECRET_BYTES = 24;

/** Tokens that the environment names stand in for those of DATA_DIR. */
export type GivenTokens = { adminToken: string | undefined; internalToken: string | undefined };

/** Reads the secrets; makes those that are not there yet. Throws StartError when the file is damaged. */
export async function ensureSecrets(dataDir: string, given: GivenTokens): Promise<Secrets> {
  const path = join(dataDir, FILE);
  const kept = await readSecrets(path);
  const secrets: Secrets = {
    adminToken: newSecret(),
    internalToken: newSecret(),
    databasePassword: newSecret(),
    conversationPassword: newSecret(),
    quotaPassword: newSecret(),
    llmPassword: newSecret(),
    ...kept,
  };
  if (Object.keys(kept).length < Object.keys(secrets).length) {
    // Beside and renamed: half a file would lock us out of our own database.
    await writeFile(`${path}.new`, `${JSON.stringify(secrets, undefined, 2)}\n`, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  return {
    ...secrets,
    adminToken: given.adminToken ?? secrets.adminToken,
    internalToken: given.internalToken ?? secrets.internalToken,
  };
}

async function readSecrets(path: string): Promise<Partial<Secrets>> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as Partial<Secrets>;
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return {};
    const reason = systemCode(cause) ?? "it is damaged";
    throw new StartError(
      `cannot read ${path} (${reason}): restore it from a backup, or begin anew with another DATA_DIR`,
      {
        cause,
      },
    );
  }
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString("base64url");
}
