// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { base64url, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import { type Api, bearer, createApi, exportPath } from "../support/api.ts";
import { type ContractSystem, formatDetail, formatRefusal, memberClaims } from "../support/contract-system.ts";

export function authSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  const sessionId = randomUUID();

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
    await api.chat(tenant, { session_id: sessionId });
  });

  /** Calls the export and the playground. Returns each response as its status and body. The export's text is cut to 60 characters. */
  async function callEndpoints(authorization: string | undefined, client: Api = api): Promise<string[]> {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const body = { bot_slug: tenant.botSlug, session_id: "no uuid", message: "Hello?" };
    return [
      formatRefusal(await client.call({ path: exportPath(sessionId), headers })).slice(0, 60),
      formatRefusal(await client.call({ method: "POST", path: "/api/chat/playground/", headers, body })),
    ];
  }

  const refusals = (status: number, code: string) => [formatDetail(status, code), formatDetail(status, code)];

  /** The responses to a valid token: the transcript, and the playground's error for the malformed session id. */
  const accepted = ['200 {"session":{', formatDetail(400, "invalid_session_id")].map((text) =>
    expect.stringContaining(text),
  );

  const nowSeconds = () => Math.floor(Date.now() / 1_000);

  /** Returns a token from the OAuth 2.0 token endpoint. */
  const issueToken = () => system.sso.token({ workspaceId: tenant.workspaceId });

  /** Signs a token of valid claims, changed by `claims`. The value undefined omits a claim. */
  const signClaims = (claims: Record<string, unknown>) =>
    system.sso.sign({ ...memberClaims(system, tenant), ...claims } as JWTPayload);

  test("an access token of the identity provider gives access to the workspace in its workspace claim [5/3-4] [5/8] [4.4/1]", async () => {
    expect(await callEndpoints(`Bearer ${await issueToken()}`)).toEqual(accepted);
    expect(await callEndpoints(`bearer ${await signClaims({})}`)).toEqual(accepted);
  });

  test("a missing or malformed token gets 401 [5/10] [7.2/1] [4.3/8]", async () => {
    const token = await issueToken();
    const headers = [
      undefined,
      "",
      "Bearer",
      "Bearer ",
      token,
      `Basic ${token}`,
      `Bearer ${token} x`,
      "Bearer a.b.c",
      "Bearer ...",
    ];
    for (const header of headers)
      expect(await callEndpoints(header), header).toEqual(refusals(401, "authentication_required"));
    expect(await callEndpoints(`Bearer ${token.slice(0, -4)}AAAA`)).toEqual(refusals(401, "authentication_required"));
  });

  test("iss, aud and exp are required, and a token's times are checked with 30 s of clock skew [D23/1] [D23/3] [H/9]", async () => {
    const wrong = [
      { iss: undefined },
      { iss: "https://evil.example" },
      { aud: undefined },
      { aud: "https://other.example/api" },
      { exp: undefined },
      { exp: nowSeconds() - 40 },
      { nbf: nowSeconds() + 60 },
    ];
    for (const claims of wrong)
      expect(await callEndpoints(`Bearer ${await signClaims(claims)}`), JSON.stringify(claims)).toEqual(
        refusals(401, "authentication_required"),
      );
    for (const claims of [
      { exp: nowSeconds() - 20 },
      { nbf: nowSeconds() + 20 },
      { aud: ["https://x.example", system.sso.audience] },
    ])
      expect(await callEndpoints(`Bearer ${await signClaims(claims)}`), JSON.stringify(claims)).toEqual(accepted);
  });

  test("a token that is not signed with the identity provider's private key gets 401 [D23/2] [H/9]", async () => {
    const { keys } = (await (await fetch(system.sso.jwksUrl)).json()) as { keys: JWK[] };
    const publicJwk = keys[0] ?? {};
    const evilKeys = await generateKeyPair("RS256", { extractable: true });
    const evilJwk = await exportJWK(evilKeys.publicKey);
    const claims = memberClaims(system, tenant);
    const encodePart = (value: object) => base64url.encode(JSON.stringify(value));
    const sign = (header: object, key: typeof evilKeys.privateKey | Uint8Array) =>
      new SignJWT(claims).setProtectedHeader({ alg: "RS256", kid: publicJwk.kid ?? "", ...header }).sign(key);

    const keySet = createServer((_, response) => response.end(JSON.stringify({ keys: [{ ...evilJwk, kid: "evil" }] })));
    onTestFinished(() => void keySet.close());
    let keySetRequests = 0;
    keySet.on("request", () => keySetRequests++);
    await once(keySet.listen(0, "127.0.0.1"), "listening");
    const jku = `http://127.0.0.1:${(keySet.address() as AddressInfo).port}/jwks`;

    const secrets = [JSON.stringify(publicJwk), String(publicJwk.n), base64url.decode(String(publicJwk.n))];
    const forgedTokens = [
      `${encodePart({ alg: "none" })}.${encodePart(claims)}.`,
      `${encodePart({ alg: "none", kid: publicJwk.kid })}.${encodePart(claims)}.AAAA`,
      `${encodePart({ alg: "RS256", kid: publicJwk.kid })}.${encodePart(claims)}.`,
      ...(await Promise.all(
        secrets.map((secret) =>
          sign({ alg: "HS256" }, typeof secret === "string" ? new TextEncoder().encode(secret) : secret),
        ),
      )),
      await sign({}, evilKeys.privateKey),
      await sign({ kid: "evil", jku }, evilKeys.privateKey),
      await sign({ kid: "evil", x5u: jku }, evilKeys.privateKey),
      await sign({ jwk: evilJwk }, evilKeys.privateKey),
      await sign({ kid: "../../dev/null" }, evilKeys.privateKey),
    ];
    for (const token of forgedTokens)
      expect(await callEndpoints(`Bearer ${token}`), token.slice(0, 60)).toEqual(
        refusals(401, "authentication_required"),
      );
    expect(keySetRequests).toBe(0);
  });

  test("a token without a valid workspace claim gets no_workspace [5/11] [7.2/2] [D23/5] [H/9]", async () => {
    expect(await callEndpoints(`Bearer ${await system.sso.token({})}`)).toEqual(refusals(401, "no_workspace"));
    const claims = [
      undefined,
      null,
      "",
      7,
      true,
      [tenant.workspaceId],
      { id: tenant.workspaceId },
      "*",
      "a/b",
      "x".repeat(65),
    ];
    for (const workspace_id of claims)
      expect(await callEndpoints(`Bearer ${await signClaims({ workspace_id })}`), JSON.stringify(workspace_id)).toEqual(
        refusals(401, "no_workspace"),
      );
  });

  test("a token without a valid sub gets authentication_required [D23/6]", async () => {
    for (const sub of [undefined, "", "a\0b", "a\nb", "\ud800"])
      expect(await callEndpoints(`Bearer ${await signClaims({ sub })}`)).toEqual(
        refusals(401, "authentication_required"),
      );
  });

  test("an unknown workspace owns no session and no bot [D23/7]", async () => {
    expect(await callEndpoints(`Bearer ${await signClaims({ workspace_id: "unknown-workspace" })}`)).toEqual([
      formatDetail(404, "session_not_found"),
      formatDetail(400, "invalid_session_id"),
    ]);
    const bot = { bot_slug: tenant.botSlug };
    const token = await signClaims({ workspace_id: "unknown-workspace" });
    expect(formatRefusal(await api.refusedPlayground(token, bot))).toBe(formatDetail(404, "bot_not_found"));
  });

  test("the name of the workspace claim is configurable [D23/4]", async () => {
    const edge = await system.startEdge({ JWT_WORKSPACE_CLAIM: "https://example.com/org" });
    const other = await createApi(`http://127.0.0.1:${edge.port}`);
    const otherClaim = { workspace_id: undefined, "https://example.com/org": tenant.workspaceId };
    expect(await callEndpoints(`Bearer ${await signClaims(otherClaim)}`, other)).toEqual(accepted);
    expect(await callEndpoints(`Bearer ${await signClaims({})}`, other)).toEqual(refusals(401, "no_workspace"));
  });

  test("when the key set is unreachable, tokens signed with cached keys are accepted, and a token signed with an unknown key gets 503 [D23/8]", async () => {
    const { keys } = (await (await fetch(system.sso.jwksUrl)).json()) as { keys: JWK[] };
    const keySet = createServer((_, response) => response.end(JSON.stringify({ keys })));
    await once(keySet.listen(0, "127.0.0.1"), "listening");
    const edge = await system.startEdge({ JWKS_URL: `http://127.0.0.1:${(keySet.address() as AddressInfo).port}/` });
    const client = await createApi(`http://127.0.0.1:${edge.port}`);
    const known = `Bearer ${await signClaims({})}`;
    expect(await callEndpoints(known, client)).toEqual(accepted);
    keySet.close();
    keySet.closeAllConnections();
    const { privateKey } = await generateKeyPair("ES256");
    const unknown = await new SignJWT(memberClaims(system, tenant))
      .setProtectedHeader({ alg: "ES256", kid: "new" })
      .sign(privateKey);
    expect(await callEndpoints(`Bearer ${unknown}`, client)).toEqual(refusals(503, "auth_unavailable"));
    const { headers } = await client.call({ path: exportPath(sessionId), headers: bearer(unknown) });
    expect(headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect(await callEndpoints(known, client)).toEqual(accepted);
  });
}
