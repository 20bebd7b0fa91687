import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { invalidArgument } from "@parley/service-kit";

export type Algorithm = "HS256" | "ES256" | "EdDSA" | "RS256";

/** `jwk` is the public key as JSON, without the members that verifying does not need. `kid` is the JWK's; undefined for PEM. */
export type PublicIdentityKey = { kid: string | undefined; algorithm: Algorithm; jwk: string };

const PEM = /^-----BEGIN (RSA )?PUBLIC KEY-----[\sA-Za-z0-9+/=]+-----END (RSA )?PUBLIC KEY-----$/;
const KID = /^[!-~]{1,100}$/;
const MIN_RSA_BITS = 2_048;
/** Bounds the time that the edge needs to verify a signature. */
const MAX_RSA_BITS = 8_192;

/** Reads a public key as PEM or JWK. Throws invalid_argument for anything else, such as a private key. */
export function readPublicIdentityKey(text: string): PublicIdentityKey {
  const trimmed = text.trim();
  if (/PRIVATE KEY/.test(trimmed)) throw privateKey();
  const { key, kid, alg } = trimmed.startsWith("{") ? readJwk(trimmed) : readPem(trimmed);
  const algorithm = algorithmOf(key);
  if (algorithm === undefined)
    throw invalidArgument(
      `pem_or_jwk must be a key on P-256, an Ed25519 key, or an RSA key of ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits`,
    );
  if (alg !== undefined && alg !== algorithm && !(alg === "Ed25519" && algorithm === "EdDSA"))
    throw invalidArgument(`the JWK's alg must be ${algorithm}`);
  return { kid, algorithm, jwk: JSON.stringify(key.export({ format: "jwk" })) };
}

type ReadKey = { key: KeyObject; kid?: string; alg?: unknown };

function readPem(text: string): ReadKey {
  if (!PEM.test(text)) throw notPublicKey();
  return { key: tryCreateKey(text) };
}

function readJwk(text: string): ReadKey {
  let jwk: Record<string, unknown>;
  try {
    jwk = JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw notPublicKey();
  }
  if ("d" in jwk || "k" in jwk) throw privateKey();
  const { kid, alg } = jwk;
  if (kid === undefined) return { key: tryCreateKey({ key: jwk as JsonWebKey, format: "jwk" }), alg };
  if (typeof kid !== "string" || !KID.test(kid))
    throw invalidArgument("the JWK's kid must be 1 to 100 visible ASCII characters");
  return { key: tryCreateKey({ key: jwk as JsonWebKey, format: "jwk" }), kid, alg };
}

function tryCreateKey(input: Parameters<typeof createPublicKey>[0]): KeyObject {
  try {
    return createPublicKey(input);
  } catch {
    throw notPublicKey();
  }
}

function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): Algorithm | undefined {
  const { namedCurve, modulusLength = 0 } = asymmetricKeyDetails;
  if (asymmetricKeyType === "ec") return namedCurve === "prime256v1" ? "ES256" : undefined;
  if (asymmetricKeyType === "rsa")
    return modulusLength >= MIN_RSA_BITS && modulusLength <= MAX_RSA_BITS ? "RS256" : undefined;
  return asymmetricKeyType === "ed25519" ? "EdDSA" : undefined;
}

function notPublicKey() {
  return invalidArgument("pem_or_jwk must be a public key as PEM or JWK");
}

function privateKey() {
  return invalidArgument("pem_or_jwk must be the public key, not the private key or a secret");
}
