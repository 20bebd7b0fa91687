import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from "jose";
import { CliError } from "../errors.ts";
import type { IssuerSettings } from "./instance.ts";

const ALGORITHM = "ES256";
const ROLE_CLAIM = "roles";

export const ROLES = ["viewer", "agent", "owner"] as const;

/** The environment variables with which the services accept the roles in the development issuer's tokens. */
export const DEVELOPMENT_ROLE_ENV = {
  JWT_ROLE_CLAIM: ROLE_CLAIM,
  JWT_OWNER_ROLES: "owner",
  JWT_AGENT_ROLES: "agent",
  JWT_VIEWER_ROLES: "viewer",
};

const PRIVATE_FILE = "issuer-key.json";
const PUBLIC_FILE = "issuer-jwks.json";

/** Creates the key pair of the development issuer if DATA_DIR has none. Returns the `file:` URL of the issuer's JWKS. */
export async function ensureIssuer(dataDir: string): Promise<string> {
  let key = await readKey(dataDir);
  if (!key) {
    const { privateKey } = await generateKeyPair(ALGORITHM, { extractable: true });
    const jwk = await exportJWK(privateKey);
    key = { ...jwk, alg: ALGORITHM, use: "sig", kid: await calculateJwkThumbprint(jwk) };
    // Renamed into place, so that a killed start leaves no incomplete key.
    const draft = join(dataDir, `${PRIVATE_FILE}.new`);
    await writeFile(draft, `${JSON.stringify(key)}\n`, { mode: 0o600 });
    await rename(draft, join(dataDir, PRIVATE_FILE));
  }
  const { d: _private, ...publicKey } = key;
  const jwksPath = join(dataDir, PUBLIC_FILE);
  await writeFile(jwksPath, `${JSON.stringify({ keys: [publicKey] })}\n`);
  return pathToFileURL(jwksPath).href;
}

export type TokenRequest = {
  workspaceId: string;
  userId: string;
  role?: (typeof ROLES)[number] | undefined;
  ttlSeconds: number;
  nowSeconds: number;
};

export async function signToken(dataDir: string, settings: IssuerSettings, request: TokenRequest): Promise<string> {
  const key = await readKey(dataDir);
  if (!key)
    throw new CliError(`${dataDir} has no development issuer key: start Parley once with npx --yes pnpm@12 start`);
  return new SignJWT({
    [settings.workspaceClaim]: request.workspaceId,
    ...(request.role && { [ROLE_CLAIM]: [request.role] }),
  })
    .setProtectedHeader({ alg: ALGORITHM, typ: "JWT", ...(key.kid && { kid: key.kid }) })
    .setIssuer(settings.issuer)
    .setAudience(settings.audience)
    .setSubject(request.userId)
    .setIssuedAt(request.nowSeconds)
    .setExpirationTime(request.nowSeconds + request.ttlSeconds)
    .sign(await importJWK(key, ALGORITHM));
}

async function readKey(dataDir: string): Promise<JWK | undefined> {
  const path = join(dataDir, PRIVATE_FILE);
  try {
    return JSON.parse(await readFile(path, "utf8")) as JWK;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    if (!(error instanceof SyntaxError)) throw error;
    const remedy = "delete it and start Parley again; tokens that its key signed become invalid";
    throw new CliError(`${path} is damaged: ${remedy}`, { cause: error });
  }
}
