import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { readPublicIdentityKey } from "./public-identity-key.ts";

const p256 = generateKeyPairSync("ec", { namedCurve: "P-256" });
const ed25519 = generateKeyPairSync("ed25519");
const rsa = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const KEYS = [
  ["ES256", p256.publicKey],
  ["EdDSA", ed25519.publicKey],
  ["RS256", rsa.publicKey],
] as const;
const spki = { type: "spki", format: "pem" } as const;
const jwkOf = (more: object = {}) => JSON.stringify({ ...p256.publicKey.export({ format: "jwk" }), ...more });

describe("a public key", () => {
  test.each(KEYS)("of %s is read from PEM and JWK", (algorithm, key) => {
    const jwk = JSON.stringify(key.export({ format: "jwk" }));
    const expected = { kid: undefined, algorithm, jwk };
    expect(readPublicIdentityKey(`\n${key.export(spki)}\n`)).toEqual(expected);
    expect(readPublicIdentityKey(jwk)).toEqual(expected);
  });

  test("of RSA is read from PKCS #1", () => {
    const pem = rsa.publicKey.export({ type: "pkcs1", format: "pem" }).toString();
    expect(readPublicIdentityKey(pem).algorithm).toBe("RS256");
  });

  test("keeps a JWK's kid, and no other member that verifying does not need", () => {
    const text = jwkOf({ kid: "2026-12", alg: "ES256", use: "sig", x5c: ["secret"] });
    expect(readPublicIdentityKey(text)).toEqual({ kid: "2026-12", algorithm: "ES256", jwk: jwkOf() });
  });
});

const NOT_PUBLIC = "pem_or_jwk must be a public key as PEM or JWK";
const PRIVATE = "pem_or_jwk must be the public key, not the private key or a secret";
const UNSUPPORTED = "pem_or_jwk must be a key on P-256, an Ed25519 key, or an RSA key of 2048 to 8192 bits";

test.each([
  ["white space", " ", NOT_PUBLIC],
  ["text", "secret", NOT_PUBLIC],
  ["damaged PEM", `-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----`, NOT_PUBLIC],
  ["two keys", `${p256.publicKey.export(spki)}${p256.publicKey.export(spki)}`, NOT_PUBLIC],
  ["damaged JSON", "{", NOT_PUBLIC],
  ["a key set", JSON.stringify({ keys: [JSON.parse(jwkOf())] }), NOT_PUBLIC],
  ["a point that is not on the curve", jwkOf({ x: "AAAA" }), NOT_PUBLIC],
  ["a private key as PEM", p256.privateKey.export({ type: "pkcs8", format: "pem" }).toString(), PRIVATE],
  ["a private key as JWK", JSON.stringify(ed25519.privateKey.export({ format: "jwk" })), PRIVATE],
  ["a secret as JWK", '{"kty":"oct","k":"c2VjcmV0"}', PRIVATE],
  ["another curve", generateKeyPairSync("ec", { namedCurve: "P-384" }).publicKey.export(spki).toString(), UNSUPPORTED],
  ["X25519", generateKeyPairSync("x25519").publicKey.export(spki).toString(), UNSUPPORTED],
  [
    "a short RSA key",
    generateKeyPairSync("rsa", { modulusLength: 1_024 }).publicKey.export(spki).toString(),
    UNSUPPORTED,
  ],
  ["a JWK for another algorithm", jwkOf({ alg: "ES384" }), "the JWK's alg must be ES256"],
  [
    "a JWK with a kid of 101 characters",
    jwkOf({ kid: "k".repeat(101) }),
    "the JWK's kid must be 1 to 100 visible ASCII characters",
  ],
  ["a JWK whose kid is no text", jwkOf({ kid: 1 }), "the JWK's kid must be 1 to 100 visible ASCII characters"],
])("refuses %s", (_, text, message) => {
  expect(() => readPublicIdentityKey(text)).toThrow(expect.objectContaining({ code: "invalid_argument", message }));
});
