import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { createProviderClient } from "./provider.client.ts";

/** Starts a token endpoint with its discovery document. Returns the issuer and the received Authorization headers. */
async function startIssuer({ tokenStatus = 200 } = {}) {
  const authorizations: (string | undefined)[] = [];
  const server = createServer(({ url, headers }, response) => {
    response.setHeader("content-type", "application/json");
    if (url === "/token") {
      authorizations.push(headers.authorization);
      response.statusCode = tokenStatus;
    }
    const body =
      url === "/token"
        ? { access_token: "access", token_type: "bearer" }
        : { issuer: issuer(), token_endpoint: `${issuer()}/token` };
    response.end(JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  const issuer = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { issuer: issuer(), authorizations };
}

it("sends the client secret that is current at each request", async () => {
  const { issuer, authorizations } = await startIssuer();
  let secret = "old";
  const provider = createProviderClient({
    issuer,
    clientId: "console",
    clientSecret: () => secret,
    scope: "openid",
    resource: undefined,
    redirectUri: "https://console.example/auth/callback",
    allowsHttp: true,
  });
  await provider.refresh("refresh");
  secret = "new";
  await provider.refresh("refresh");
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  expect(authorizations).toEqual([basic("console:old"), basic("console:new")]);
});

it.each([
  [502, 503, "sign_in_unavailable"],
  [400, 400, "sign_in_refused"],
])("reports a token endpoint's status %i as %i %s", async (tokenStatus, status, code) => {
  const { issuer } = await startIssuer({ tokenStatus });
  const provider = createProviderClient({
    issuer,
    clientId: "console",
    clientSecret: undefined,
    scope: "openid",
    resource: undefined,
    redirectUri: "https://console.example/auth/callback",
    allowsHttp: true,
  });
  const pending = { state: "s", nonce: "n", codeVerifier: "v".repeat(43), returnTo: "/" };
  const callback = new URL("https://console.example/auth/callback?code=c&state=s");
  await expect(provider.complete(callback, pending)).rejects.toMatchObject({ status, code });
});
