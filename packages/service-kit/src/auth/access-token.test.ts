import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createLogger } from "../process/logger.ts";
import { createTokenVerifier, type TokenVerifier } from "./access-token.ts";
import { createJwks, type Jwks } from "./jwks.ts";

const issuer = "https://sso.test/";
const audience = "https://parley.test/api";
const log = createLogger("test", "silent");

type Signer = Awaited<ReturnType<typeof createSigner>>;

async function createSigner(kid: string, alg = "ES256") {
  const pair = await generateKeyPair(alg, { extractable: true });
  const jwk = { ...(await exportJWK(pair.publicKey)), kid, alg };
  const sign = (claims: JWTPayload, header: Record<string, unknown> = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg, kid, ...header }).sign(pair.privateKey);
  return { jwk, sign };
}

const claims = (extra: JWTPayload = {}): JWTPayload => ({
  iss: issuer,
  aud: audience,
  sub: "user-1",
  exp: Math.floor(Date.now() / 1_000) + 600,
  workspace_id: "ws_1",
  ...extra,
});

let server: Server;
let publishedKeys: object[];
let fetches: number;
let isProviderDown: boolean;
/** If set, the server waits for this promise before it responds. */
let beforeResponse: Promise<void> | undefined;
let jwksUrl: string;
let nowMs: number;
let signer: Signer;
let jwks: Jwks;
let verify: TokenVerifier;

beforeAll(async () => {
  server = createServer(async (_, response) => {
    fetches++;
    await beforeResponse;
    response.statusCode = isProviderDown ? 503 : 200;
    response.end(JSON.stringify({ keys: publishedKeys }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  jwksUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/jwks`;
});
afterAll(() => void server.close());

beforeEach(async () => {
  signer = await createSigner("first");
  publishedKeys = [signer.jwk];
  fetches = 0;
  isProviderDown = false;
  beforeResponse = undefined;
  nowMs = 0;
  jwks = createJwks({ url: jwksUrl, now: () => nowMs }, log);
  verify = createTokenVerifier({ issuer, audience, workspaceClaim: "workspace_id" }, jwks);
});

const verifyToken = async (token: string | Promise<string>) => verify(`Bearer ${await token}`);

test("returns the user and workspace of a valid token", async () => {
  expect(await verifyToken(signer.sign(claims()))).toEqual({ userId: "user-1", workspaceId: "ws_1" });
});

test("accepts a user id in any script", async () => {
  const sub = "auth0|Jürgen 商店 👩‍💻";
  expect(await verifyToken(signer.sign(claims({ sub })))).toMatchObject({ userId: sub });
});

describe("refuses with authentication_required", () => {
  test.each([undefined, "", "Bearer", "Bearer x", "Basic dTpw", "Bearer a.b", "Bearer a.b.c"])("%j", async (header) => {
    await expect(verify(header)).rejects.toMatchObject({ kind: "unauthenticated", code: "authentication_required" });
  });

  test.each<[string, () => Promise<string> | string]>([
    ["no signature", () => new UnsecuredJWT(claims()).encode()],
    ["a wrong issuer", () => signer.sign(claims({ iss: "https://evil.test/" }))],
    ["a wrong audience", () => signer.sign(claims({ aud: "other" }))],
    ["no expiry", () => signer.sign({ ...claims(), exp: undefined } as unknown as JWTPayload)],
    ["expired beyond the skew", () => signer.sign(claims({ exp: Math.floor(Date.now() / 1_000) - 32 }))],
    ["not valid yet", () => signer.sign(claims({ nbf: Math.floor(Date.now() / 1_000) + 120 }))],
    ["no user id", () => signer.sign({ ...claims(), sub: undefined } as unknown as JWTPayload)],
    ...["", "\0", "user-1\0", "a\nb", "\u0085", "\ud800", "x".repeat(1025)].map(
      (sub): [string, () => Promise<string>] => [
        `the user id ${JSON.stringify(sub).slice(0, 20)}`,
        () => signer.sign(claims({ sub })),
      ],
    ),
    [
      "HS256 signed with the public key",
      () =>
        new SignJWT(claims())
          .setProtectedHeader({ alg: "HS256", kid: "first" })
          .sign(new TextEncoder().encode(JSON.stringify(signer.jwk))),
    ],
    ["another key under a known kid", async () => (await createSigner("first")).sign(claims())],
    [
      "a key from the token's own header",
      async () => {
        const other = await createSigner("other");
        return other.sign(claims(), { jku: jwksUrl, jwk: other.jwk });
      },
    ],
  ])("%s", async (_, token) => {
    await expect(verifyToken(token())).rejects.toMatchObject({
      kind: "unauthenticated",
      code: "authentication_required",
    });
  });
});

test("accepts 30 s of clock skew", async () => {
  await expect(verifyToken(signer.sign(claims({ exp: Math.floor(Date.now() / 1_000) - 25 })))).resolves.toBeDefined();
});

test.each([[undefined], [""], [[]], [["ws_1"]], [42], [{ id: "ws_1" }]])(
  "refuses a workspace claim of %j with no_workspace",
  async (claim) => {
    await expect(verifyToken(signer.sign(claims({ workspace_id: claim })))).rejects.toMatchObject({
      kind: "unauthenticated",
      code: "no_workspace",
    });
  },
);

describe("the workspace claim", () => {
  const workspaceIn = async (workspaceClaim: string, extra: JWTPayload) => {
    const verifyWorkspace = createTokenVerifier({ issuer, audience, workspaceClaim }, jwks);
    const token = await signer.sign({ ...claims(), workspace_id: undefined, ...extra } as unknown as JWTPayload);
    return verifyWorkspace(`Bearer ${token}`).then(
      ({ workspaceId }) => workspaceId,
      (error: { code: string }) => error.code,
    );
  };

  test.each<[string, JWTPayload, string]>([
    ["app_metadata.workspace", { app_metadata: { workspace: "ws_2" } }, "ws_2"],
    ["a.b.c", { a: { b: { c: "ws_2" } } }, "ws_2"],
    ["https://x.example/workspace", { "https://x.example/workspace": "ws_2" }, "ws_2"],
    ["a.b", { "a.b": "ws_2", a: { b: "ws_3" } }, "ws_2"],
    ["a.b", { a: "ws_2" }, "no_workspace"],
    ["a.b", { a: ["ws_2"] }, "no_workspace"],
    ["a.b", { a: { b: ["ws_2"] } }, "no_workspace"],
    ["a.b", { a: null }, "no_workspace"],
    ["a.length", { a: "ws_2" }, "no_workspace"],
    ["a..b", { a: { b: "ws_2" } }, "no_workspace"],
    ["__proto__.constructor.name", {}, "no_workspace"],
  ])("%s in the token %j names %s", async (claim, extra, workspace) => {
    expect(await workspaceIn(claim, extra)).toBe(workspace);
  });
});

describe("keys without a kid", () => {
  const withoutKid = ({ jwk }: Signer) => ({ ...jwk, kid: undefined });
  const valid = { workspaceId: "ws_1" };
  let other: Signer;
  let rsa: Signer;
  beforeEach(async () => {
    other = await createSigner("other");
    rsa = await createSigner("rsa", "RS256");
  });

  test.each([
    ["with a kid", {}],
    ["without a kid", { kid: undefined }],
    ["with an empty kid", { kid: "" }],
  ])("verify a token %s by its algorithm", async (_, header) => {
    publishedKeys = [withoutKid(rsa), withoutKid(other), withoutKid(signer)];
    for (const each of [signer, other, rsa])
      expect(await verifyToken(each.sign(claims(), header))).toMatchObject(valid);
    expect(fetches).toBe(1);
  });

  test("verify a token without a kid also if the published keys have one, even the same one", async () => {
    publishedKeys = [other.jwk, { ...rsa.jwk, kid: "first" }, signer.jwk, { ...other.jwk, kid: "first" }];
    expect(await verifyToken(signer.sign(claims(), { kid: undefined }))).toMatchObject(valid);
    expect(await verifyToken(signer.sign(claims()))).toMatchObject(valid);
  });

  test("verify no token that names another key", async () => {
    publishedKeys = [withoutKid(signer), other.jwk];
    await expect(verifyToken(signer.sign(claims(), { kid: "other" }))).rejects.toMatchObject({
      code: "authentication_required",
    });
  });

  test("verify no token of another algorithm or key", async () => {
    publishedKeys = [withoutKid(signer), { ...withoutKid(other), use: "enc" }, { kty: "oct", k: "c2VjcmV0" }, {}];
    const hmac = new SignJWT(claims()).setProtectedHeader({ alg: "HS256" }).sign(new TextEncoder().encode("secret"));
    for (const token of [other.sign(claims()), rsa.sign(claims()), hmac, new UnsecuredJWT(claims()).encode()])
      await expect(verifyToken(token)).rejects.toMatchObject({ code: "authentication_required" });
  });

  test("are tried up to a limit for one token", async () => {
    const strangers = await Promise.all(Array.from({ length: 8 }, () => createSigner("")));
    publishedKeys = [...strangers.map(withoutKid), withoutKid(signer)];
    await expect(verifyToken(signer.sign(claims()))).rejects.toMatchObject({ code: "authentication_required" });
    expect(await verifyToken(strangers[7]?.sign(claims()) ?? "")).toMatchObject(valid);
  });

  test("are reloaded when none verifies a token, and a flood of such tokens causes two fetches a minute", async () => {
    publishedKeys = [withoutKid(signer)];
    await verifyToken(signer.sign(claims()));
    publishedKeys = [withoutKid(other)];
    expect(await verifyToken(other.sign(claims()))).toMatchObject(valid);
    for (let i = 0; i < 20; i++) await expect(verifyToken(signer.sign(claims()))).rejects.toThrow();
    expect(fetches).toBe(2);
  });
});

describe("the role", () => {
  const roleIn = async (claim: string, extra: JWTPayload) => {
    const roles = { claim, owner: ["parley-owner", "admin"], agent: ["parley-agent"], viewer: ["parley-viewer"] };
    const verifyRole = createTokenVerifier({ issuer, audience, workspaceClaim: "workspace_id", roles }, jwks);
    return (await verifyRole(`Bearer ${await signer.sign(claims(extra))}`)).role;
  };

  test.each<[string, JWTPayload, string | undefined]>([
    ["roles", { roles: "parley-owner" }, "owner"],
    ["roles", { roles: ["other", "admin"] }, "owner"],
    ["roles", { roles: ["parley-viewer", "parley-owner"] }, "owner"],
    ["roles", { roles: ["parley-viewer", "parley-agent"] }, "agent"],
    ["roles", { roles: ["parley-agent", "admin"] }, "owner"],
    ["roles", { roles: ["parley-viewer"] }, "viewer"],
    ["realm_access.roles", { realm_access: { roles: ["parley-viewer"] } }, "viewer"],
    ["https://parley.example/roles", { "https://parley.example/roles": ["admin"] }, "owner"],
    ["roles", {}, undefined],
    ["roles", { roles: [] }, undefined],
    ["roles", { roles: ["Admin", "admin ", "parley-owner,admin"] }, undefined],
    ["roles", { roles: { 0: "admin" } }, undefined],
    ["roles", { roles: [["admin"]] }, undefined],
    ["realm_access.roles", { realm_access: "admin" }, undefined],
    ["realm_access.roles", { realm_access: null }, undefined],
    ["__proto__.constructor.name", {}, undefined],
  ])("the claim %s in the token %j gives the role %s", async (claim, extra, role) => {
    expect(await roleIn(claim, extra)).toBe(role);
  });

  test("a token gives no role if no role claim is configured", async () => {
    expect(await verifyToken(signer.sign(claims({ roles: ["owner"], role: "owner" })))).not.toHaveProperty("role");
  });
});

describe("while the identity provider is unavailable", () => {
  test("still accepts tokens with known keys", async () => {
    await verifyToken(signer.sign(claims()));
    isProviderDown = true;
    nowMs += 3_600_000;
    await expect(verifyToken(signer.sign(claims()))).resolves.toBeDefined();
  });

  test("refuses tokens with an unknown key as auth_unavailable", async () => {
    isProviderDown = true;
    await expect(verifyToken(signer.sign(claims()))).rejects.toMatchObject({
      kind: "unavailable",
      code: "auth_unavailable",
    });
  });
});

test("accepts a token that is signed with a newly published key, before the next periodic reload", async () => {
  jwks.start();
  onTestFinished(() => jwks.stop());
  await verifyToken(signer.sign(claims()));
  const next = await createSigner("second");
  publishedKeys = [signer.jwk, next.jwk];
  await expect(verifyToken(next.sign(claims()))).resolves.toBeDefined();
});

test("a flood of tokens with unknown keys causes at most two fetches of the key set a minute", async () => {
  await verifyToken(signer.sign(claims()));
  for (let minute = 0; minute < 3; minute++) {
    fetches = 0;
    nowMs += 60_000;
    for (let i = 0; i < 50; i++) {
      nowMs += 10;
      const stranger = await createSigner(`stranger-${i}`);
      await expect(verifyToken(stranger.sign(claims()))).rejects.toMatchObject({ kind: "unauthenticated" });
    }
    expect(fetches).toBeLessThanOrEqual(2);
  }
});

test("the periodic loads do not count towards the limit of two reloads a minute", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    isProviderDown = true;
    jwks.start();
    await vi.waitUntil(() => fetches === 1 && vi.getTimerCount() > 0);
    isProviderDown = false;
    nowMs += 30_000;
    await vi.advanceTimersByTimeAsync(30_000);
    await vi.waitUntil(() => fetches === 2 && vi.getTimerCount() > 0);
    const next = await createSigner("second");
    publishedKeys = [next.jwk];
    await expect(verifyToken(next.sign(claims()))).resolves.toBeDefined();
    expect(fetches).toBe(3);
  } finally {
    jwks.stop();
    vi.useRealTimers();
  }
});
