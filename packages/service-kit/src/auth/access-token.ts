import type { Role } from "@parley/rpc/access";
import { isWorkspaceId } from "@parley/rpc/formats";
import { errors, type JWTPayload, jwtVerify } from "jose";
import { ServiceError } from "../errors.ts";
import type { Jwks } from "./jwks.ts";

export type AccessTokenOptions = {
  issuer: string;
  audience: string;
  /** The claim that holds the workspace id: see findClaim. */
  workspaceClaim: string;
  /** Without this option, no token has a role. */
  roles?: RoleOptions | undefined;
};

export type RoleOptions = {
  /** The claim that holds the roles: see findClaim. Its value is a string or an array of strings. */
  claim: string;
  /** The values that mean `owner`. */
  owner: readonly string[];
  /** The values that mean `agent`. */
  agent: readonly string[];
  /** The values that mean `viewer`. */
  viewer: readonly string[];
};

/** If a claim gives several roles, the first of these is the member's. */
const ROLES = ["owner", "agent", "viewer"] as const satisfies readonly Role[];

/** The user and workspace that an access token names, and the user's role if the token gives one. */
export type Caller = { userId: string; workspaceId: string; role?: Role };

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
const CLOCK_SKEW_SECONDS = 30;
/** Control characters and lone surrogates would not reach Redis or other services unchanged. */
const USER_ID = /^[^\p{Cc}\p{Cs}]{1,1024}$/u;
const BEARER = /^Bearer ([\w-]+\.[\w-]+\.[\w-]+)$/i;

/**
 * Creates a verifier of `Authorization: Bearer <JWT>`. The verifier throws a ServiceError:
 * - unauthenticated, authentication_required: the token is missing or invalid,
 * - unauthenticated, no_workspace: a valid token has no well-formed workspace id,
 * - unavailable, auth_unavailable: the identity provider's keys cannot be loaded.
 */
export function createTokenVerifier(options: AccessTokenOptions, jwks: Jwks): TokenVerifier {
  return async (authorization) => {
    const token = BEARER.exec(authorization ?? "")?.[1];
    if (token === undefined) throw authenticationRequired();
    const claims = await verify(token, options, jwks);
    if (typeof claims.sub !== "string" || !USER_ID.test(claims.sub)) throw authenticationRequired();
    const workspaceId = findClaim(claims, options.workspaceClaim);
    if (typeof workspaceId !== "string" || !isWorkspaceId(workspaceId))
      throw new ServiceError("unauthenticated", "no_workspace", "the access token names no workspace");
    const role = options.roles && findRole(claims, options.roles);
    return { userId: claims.sub, workspaceId, ...(role && { role }) };
  };
}

/**
 * Returns the value of a claim; undefined if the token does not have it. `claim` is the claim's name, or the dotted path to a nested claim, such
 * as `realm_access.roles`. A namespaced name such as `https://example.com/roles` contains dots itself, so `claim` is first tried as a name.
 */
export function findClaim(claims: JWTPayload, claim: string): unknown {
  return getOwn(claims, claim) ?? claim.split(".").reduce<unknown>(getOwn, claims);
}

/** Returns the first of the roles owner, agent and viewer that the claim gives; undefined if it gives none. */
export function findRole(claims: JWTPayload, { claim, ...valuesOf }: RoleOptions): Role | undefined {
  const value = findClaim(claims, claim);
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return ROLES.find((role) => valuesOf[role].some((each) => values.includes(each)));
}

function getOwn(object: unknown, name: string): unknown {
  return typeof object === "object" && object !== null && Object.hasOwn(object, name)
    ? (object as Record<string, unknown>)[name]
    : undefined;
}

function authenticationRequired(options?: ErrorOptions): ServiceError {
  const message = "the access token is missing, invalid or expired";
  return new ServiceError("unauthenticated", "authentication_required", message, options);
}

async function verify(token: string, options: AccessTokenOptions, jwks: Jwks) {
  try {
    const { payload } = await jwtVerify(token, jwks.getKey, {
      issuer: options.issuer,
      audience: options.audience,
      algorithms: ALGORITHMS,
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ["exp"],
    });
    return payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) throw authenticationRequired({ cause: error });
    throw error;
  }
}
