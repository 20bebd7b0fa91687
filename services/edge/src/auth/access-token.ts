import { isWorkspaceId, ServiceError } from "@parley/service-kit";
import { errors, jwtVerify } from "jose";
import { HttpError } from "../http/index.ts";
import type { Jwks } from "./jwks.client.ts";

export type AccessTokenOptions = { issuer: string; audience: string; workspaceClaim: string };

/** The user and workspace that an access token names. */
export type Caller = { userId: string; workspaceId: string };

export type TokenVerifier = (authorization: string | undefined) => Promise<Caller>;

// Only asymmetric algorithms: with a shared-secret algorithm, anyone who has the public key could sign tokens.
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
 * Creates a verifier of `Authorization: Bearer <JWT>`. The verifier throws
 * - 401 authentication_required if the token is missing or invalid,
 * - 401 no_workspace if a valid token has no well-formed workspace id,
 * - 503 auth_unavailable if the single sign-on's keys cannot be loaded.
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

/** Returns the rate-limit bucket of a user, the same in all workspaces. The prefix keeps it apart from the buckets of IP addresses. */
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
