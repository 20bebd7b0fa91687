import { createHmac } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { type VerificationKey, VerificationKeySchema } from "@parley/rpc/conversation";
import { type CryptoKey, EncryptJWT, exportJWK, exportSPKI, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";
import { createTokenVerifier } from "./visitor-token.ts";

const NOW = Math.floor(Date.now() / 1_000);
const HOUR = 3_600;
const SECRET = "parley_visitor_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
const bytesOf = (text: string) => new TextEncoder().encode(text);

type Signer = { kid: string; alg: string; key: CryptoKey | Uint8Array };

const secretOf = (kid: string, secret: string): Signer => ({ kid, alg: "HS256", key: bytesOf(secret) });
const keyOf = (kid: string, algorithm: string, key: string): VerificationKey =>
  create(VerificationKeySchema, { kid, algorithm, key });

async function createPair(kid: string, alg: string) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  const jwk = JSON.stringify(await exportJWK(publicKey));
  return {
    signer: { kid, alg, key: privateKey },
    verification: keyOf(kid, alg, jwk),
    jwk,
    pem: await exportSPKI(publicKey),
  };
}

const hmac = secretOf("hs", SECRET);
const [es, ed, rs] = [
  await createPair("es", "ES256"),
  await createPair("ed", "EdDSA"),
  await createPair("rs", "RS256"),
];
const verify = createTokenVerifier([
  keyOf("hs", "HS256", SECRET),
  keyOf("hs2", "HS256", `${SECRET}2`),
  ...[es, ed, rs].map(({ verification }) => verification),
]);

function sign(
  claims: object = {},
  { kid, alg, key }: Partial<Signer> & Pick<Signer, "alg" | "key"> = hmac,
  header = {},
) {
  const all = { sub: "v", exp: NOW + HOUR, ...claims };
  return new SignJWT(all).setProtectedHeader({ alg, ...(kid !== undefined && { kid }), ...header }).sign(key);
}

/** Signs any text with HS256. */
function signText(header: object, payload: string): string {
  const text = [JSON.stringify(header), payload].map((part) => Buffer.from(part).toString("base64url")).join(".");
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
}
const signJson = (json: string) => signText({ alg: "HS256" }, json);

const nested = (levels: number) => JSON.parse(`${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`);

describe("accepts a token", () => {
  test.each([
    ["of HS256", hmac],
    ["of HS256 with the second secret", secretOf("hs2", `${SECRET}2`)],
    ["of ES256", es.signer],
    ["of EdDSA", ed.signer],
    ["of EdDSA whose header says Ed25519", { ...ed.signer, alg: "Ed25519" }],
    ["of RS256", rs.signer],
  ])("%s, with and without a kid", async (_, { kid, ...signer }) => {
    for (const each of [{ kid, ...signer }, signer])
      expect(await verify(await sign({}, each))).toEqual({ visitorId: "v", metadata: undefined });
  });

  test.each([
    ["whose exp is 24 h ahead", { exp: NOW + 24 * HOUR }],
    ["that has just expired, because clocks differ", { exp: NOW - 10 }],
    ["with an nbf and an iat slightly ahead", { nbf: NOW + 10, iat: NOW + 10 }],
    ["with claims that Parley does not know", { aud: "a", iss: "i", jti: "j", name: { a: 1 } }],
  ])("%s", async (_, claims) => {
    expect(await verify(await sign(claims))).toMatchObject({ visitorId: "v" });
  });

  test("with the longest sub", async () => {
    const sub = "😀".repeat(1_024);
    expect(await verify(await sign({ sub }))).toEqual({ visitorId: sub, metadata: undefined });
  });

  test.each([{}, { plan: "gold", tags: ["a"] }, nested(32)])("with the metadata %j", async (metadata) => {
    expect(await verify(await sign({ metadata }))).toEqual({ visitorId: "v", metadata });
  });
});

describe("refuses a token", () => {
  const tokens: [string, string, string | Promise<string>][] = [
    ["that is empty", "malformed", ""],
    ["that is no JWT", "malformed", "a.b.c"],
    ["without a signature", "malformed", sign().then((token) => token.slice(0, token.lastIndexOf(".")))],
    ["with an empty signature", "signature", sign().then((token) => token.slice(0, token.lastIndexOf(".") + 1))],
    ["with alg none", "kid", new UnsecuredJWT({ sub: "v", exp: NOW + HOUR }).encode()],
    ["with alg none and a kid", "malformed", signText({ alg: "none", kid: "hs" }, '{"sub":"v"}')],
    ["with an alg in lower case", "kid", signText({ alg: "hs256" }, '{"sub":"v"}')],
    ["of HS256, signed with a public key as PEM", "malformed", sign({}, secretOf("rs", rs.pem))],
    ["of HS256, signed with a public key as JWK", "malformed", sign({}, secretOf("es", es.jwk))],
    ["of HS256 without a kid, signed with a public key", "signature", sign({}, { alg: "HS256", key: bytesOf(rs.pem) })],
    ["with the kid of another key", "signature", sign({}, { ...hmac, kid: "hs2" })],
    ["with the kid of a key of another algorithm", "malformed", sign({}, { ...es.signer, kid: "hs" })],
    ["with an unknown kid", "kid", sign({}, { ...hmac, kid: "other" })],
    ["with a kid that is no text", "kid", signText({ alg: "HS256", kid: 1 }, '{"sub":"v"}')],
    ["of another workspace's secret", "signature", sign({}, secretOf("hs", `${SECRET}x`))],
    ["with a key in its header", "signature", signForeign()],
    ["with a critical extension", "malformed", signText({ alg: "HS256", crit: ["x"], x: 1 }, '{"sub":"v"}')],
    ["of an unencoded payload", "malformed", signText({ alg: "HS256", crit: ["b64"], b64: false }, '{"sub":"v"}')],
    ["that has expired", "expired", sign({ exp: NOW - 60 })],
    ["whose exp is 25 h ahead", "claims", sign({ exp: NOW + 25 * HOUR })],
    ["whose exp is beyond every number", "claims", signJson('{"sub":"v","exp":1e999}')],
    ["without exp", "claims", sign({ exp: undefined })],
    ["whose exp is text", "claims", signJson(`{"sub":"v","exp":"${NOW + HOUR}"}`)],
    ["that is not yet valid", "claims", sign({ nbf: NOW + 120 })],
    ["from the future", "claims", sign({ iat: NOW + 120 })],
    ["without sub", "claims", sign({ sub: undefined })],
    ["with an empty sub", "claims", sign({ sub: "" })],
    ["whose sub is a number", "claims", signJson(`{"sub":1,"exp":${NOW + HOUR}}`)],
    ["with a longer sub", "claims", sign({ sub: "x".repeat(1_025) })],
    ["with NUL in its sub", "claims", sign({ sub: "a\0" })],
    ["with half a surrogate pair in its sub", "claims", signJson(`{"sub":"\\ud800","exp":${NOW + HOUR}}`)],
    ...[null, [], "text", 1, true, { n: 2 ** 53 }, { a: "\0" }, nested(33), nested(500)].map(
      (metadata): [string, string, Promise<string>] => [
        `with the metadata ${JSON.stringify(metadata).slice(0, 60)}`,
        "claims",
        sign({ metadata }),
      ],
    ),
    ["with more than 6 KiB", "malformed", sign({ metadata: { a: "x".repeat(6_000) } })],
    ["inside another token", "malformed", sign().then((token) => signText({ alg: "HS256", cty: "JWT" }, token))],
    ["that is encrypted", "kid", encrypt()],
    ["whose payload is a list", "malformed", signJson("[]")],
  ];

  async function signForeign(): Promise<string> {
    const { signer, jwk } = await createPair("es", "ES256");
    return sign({}, signer, { jwk: JSON.parse(jwk) });
  }

  function encrypt(): Promise<string> {
    const header = { alg: "dir", enc: "A256GCM" };
    return new EncryptJWT({ sub: "v" }).setProtectedHeader(header).encrypt(bytesOf(SECRET).slice(0, 32));
  }

  test.each(tokens)("%s: %s", async (_, fault, token) => {
    expect(await verify(await token)).toBe(fault);
  });

  test("whose payload was changed", async () => {
    const [header, , signature] = (await sign()).split(".");
    const payload = Buffer.from(JSON.stringify({ sub: "w", exp: NOW + HOUR })).toString("base64url");
    expect(await verify([header, payload, signature].join("."))).toBe("signature");
  });

  test("if the workspace has no identity keys", async () => {
    expect(await createTokenVerifier([])(await sign())).toBe("kid");
  });
});
