import { isWorkspaceId, ServiceError } from "@parley/service-kit";
import { errors, jwtVerify } from "jose";
import { HttpError } from "../http/index.ts";
import type { Jwks } from "./jwks.client.ts";

export type AccessTokenOptions = { issuer: string; audience: string; workspaceClaim: string };

/** Who calls: the user and the workspace their token names. */
export type Caller = { userId: string; workspaceId: string };

export type TokenVerifier = (authorization: string | undefined) => Promise<Caller>;

// Asymmetric ones alone: with a shared-secret algorithm anyone who holds the public key could sign.
const ALGORITHMS = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];
const SKEW_SECONDS = 30;
const BEARER = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i;

/**
 * Verifies `Authorization: Bearer <JWT>`. Throws 401 authentication_required for a missing or bad token, 401 no_workspace for a good
 * one that names no workspace there could be, 503 auth_unavailable when the single sign-on's keys cannot be had.
 */
export function createTokenVerifier(options: AccessTokenOptions, jwks: Jwks): TokenVerifier {
  return async (authorization) => {
    const token = BEARER.exec(authorization ?? "")?.[1];
    if (token === undefined) throw new HttpError(401, "authentication_required");
    const claims = await verify(token, options, jwks);
    if (typeof claims.sub !== "string" || claims.sub === "") throw new HttpError(401, "authentication_required");
    const workspaceId = claims[options.workspaceClaim];
    if (typeof workspaceId !== "string" || !isWorkspaceId(workspaceId)) throw new HttpError(401, "no_workspace");
    return { userId: claims.sub, workspaceId };
  };
}

/** What a user's requests are counted under, in whichever workspace; never an address, which strangers are counted under. */
export function userBucket({ userId }: Caller): string {
  return `user ${userId}`;
}

async function verify(token: string, options: AccessTokenOptions, jwks: Jwks) {
  try {
    const { payload } = await jwtVerify(token, jwks.getKey, {
      issuer: options.issuer,
      audience: options.audience,
      algorithms: ALGORITHMS,
      clockTolerance: SKEW_SECONDS,
      requiredClaims: ["exp"],
    });
    return payload;
  } catch (error) {
    if (error instanceof ServiceError) throw new HttpError(503, error.code, { "retry-after": "5" }, { cause: error });
    if (error instanceof errors.JOSEError) throw new HttpError(401, "authentication_required", {}, { cause: error });
    throw error;
  }
}
