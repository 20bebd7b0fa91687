import type { VerificationKey } from "@parley/rpc/conversation";
import { isLongerThan } from "@parley/service-kit";
import {
  CLOCK_SKEW_SECONDS,
  MAX_LIFETIME_SECONDS,
  MAX_TOKEN_CHARACTERS,
  MAX_VISITOR_ID_CHARACTERS,
} from "@parley/service-kit/visitor-token";
import { type CryptoKey, decodeProtectedHeader, errors, importJWK, type JWTPayload, jwtVerify } from "jose";
import Type from "typebox";
import { isVisitorMetadata } from "../http/index.ts";

export { MAX_VISITOR_ID_CHARACTERS };
export const MAX_METADATA_BYTES = 16 * 1024;

export const VisitorToken = Type.Optional(
  Type.String({
    description: `A JWT that the owner's backend signs with an identity key of the workspace. It has \`sub\` (the visitor's id, at most ${MAX_VISITOR_ID_CHARACTERS} characters) and \`exp\` (at most 24 hours ahead), and may have \`iat\`, \`nbf\`, and \`metadata\`, which replaces \`visitor_metadata\`. At most ${MAX_TOKEN_CHARACTERS} characters.`,
  }),
);

export type VerifiedVisitor = { visitorId: string; metadata: object | undefined };

/** Why a token is refused, for operators and for `parley doctor`. */
export const TOKEN_FAULTS = ["malformed", "kid", "signature", "expired", "claims"] as const;
export type TokenFault = (typeof TOKEN_FAULTS)[number];

/** Verifies a visitor token. */
export type TokenVerifier = (token: string) => Promise<VerifiedVisitor | TokenFault>;

/** An identity key that is imported when the first token needs it. */
type UsableKey = Pick<VerificationKey, "kid" | "algorithm"> & { import: () => Promise<CryptoKey | Uint8Array> };

/** Creates a verifier of the tokens that a workspace's identity keys sign. */
export function createTokenVerifier(verificationKeys: readonly VerificationKey[]): TokenVerifier {
  const keys = verificationKeys.map(createUsableKey);
  return async (token) => {
    const candidates = token.length > MAX_TOKEN_CHARACTERS ? "malformed" : selectKeys(token, keys);
    if (typeof candidates === "string") return candidates;
    let fault: TokenFault = "kid";
    for (const key of candidates) {
      const claims = await verify(token, key);
      if (typeof claims === "object") return readVisitor(claims) ?? "claims";
      fault = claims;
      if (fault !== "signature") break;
    }
    return fault;
  };
}

/** Returns the key that the token names or, if it names none, all keys of its algorithm. */
function selectKeys(token: string, keys: readonly UsableKey[]): UsableKey[] | "malformed" {
  try {
    const { kid, alg } = decodeProtectedHeader(token);
    if (kid !== undefined) return keys.filter((key) => key.kid === kid);
    return keys.filter((key) => algorithmsOf(key).includes(alg ?? ""));
  } catch (error) {
    if (error instanceof TypeError) return "malformed";
    throw error;
  }
}

async function verify(token: string, key: UsableKey): Promise<JWTPayload | TokenFault> {
  try {
    const options = {
      // The key determines the algorithm. jose refuses a token whose header names another one.
      algorithms: algorithmsOf(key),
      clockTolerance: CLOCK_SKEW_SECONDS,
      requiredClaims: ["exp", "sub"],
    };
    return (await jwtVerify(token, await key.import(), options)).payload;
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
    if (error instanceof errors.JWTExpired) return "expired";
    if (error instanceof errors.JWTClaimValidationFailed) return "claims";
    if (error instanceof errors.JOSEError) return "malformed";
    throw error;
  }
}

/** Returns undefined if a claim is invalid. jose has checked that `exp` is a number in the future, and `nbf` and `iat` numbers. */
function readVisitor({ sub, exp = 0, iat = 0, metadata }: JWTPayload): VerifiedVisitor | undefined {
  const latestSeconds = Date.now() / 1_000 + CLOCK_SKEW_SECONDS;
  if (exp > latestSeconds + MAX_LIFETIME_SECONDS || iat > latestSeconds) return undefined;
  if (typeof sub !== "string" || sub === "" || isLongerThan(sub, MAX_VISITOR_ID_CHARACTERS)) return undefined;
  // PostgreSQL refuses NUL and lone surrogates.
  if (!sub.isWellFormed() || sub.includes("\0")) return undefined;
  if (metadata !== undefined && !isVisitorMetadata(metadata, MAX_METADATA_BYTES)) return undefined;
  return { visitorId: sub, metadata };
}

function createUsableKey({ kid, algorithm, key }: VerificationKey): UsableKey {
  let imported: Promise<CryptoKey | Uint8Array> | undefined;
  const importKey = async () =>
    algorithm === "HS256" ? new TextEncoder().encode(key) : importJWK(JSON.parse(key), algorithm);
  return {
    kid,
    algorithm,
    import: () => {
      imported ??= importKey();
      return imported;
    },
  };
}

/** Returns the names in a token's `alg` for a key's algorithm. */
function algorithmsOf({ algorithm }: Pick<UsableKey, "algorithm">): string[] {
  return algorithm === "EdDSA" ? ["EdDSA", "Ed25519"] : [algorithm];
}
