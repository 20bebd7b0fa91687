import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, type TestContext, test } from "vitest";
import { readLogin, writeLogin } from "./login-file.ts";
import { readAccessToken, signIn } from "./sign-in.ts";

const TOKENS = { access_token: "token", token_type: "Bearer", expires_in: 3_600 };

function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Starts an identity provider with the device flow. `token` responds to the polls. Returns its URL. */
async function startProvider({ onTestFinished }: TestContext, token: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === "/token") return token(request, response);
    if (request.url === "/device") {
      const codes = { device_code: "d", user_code: "u", verification_uri: `${issuer}/verify` };
      return respond(response, 200, { ...codes, expires_in: 60, interval: 1 });
    }
    const endpoints = { device_authorization_endpoint: `${issuer}/device`, token_endpoint: `${issuer}/token` };
    return respond(response, 200, { issuer, ...endpoints });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;
}

/** Signs in. Returns the access token, or the error's message, and the notices. */
async function tryToSignIn(issuer: string): Promise<{ result: string; notices: string[] }> {
  const notices: string[] = [];
  const request = { issuer, clientId: "cli", parameters: {} };
  const result = await signIn(
    request,
    () => undefined,
    (line) => notices.push(line),
  ).then(
    ({ accessToken }) => accessToken,
    (error: Error) => error.message,
  );
  return { result, notices };
}

const FAULTS: Record<string, RequestListener> = {
  "a reset connection": (request) => request.socket.resetAndDestroy(),
  "a response that is cut off": (_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "99" }).write("{");
    setTimeout(() => response.destroy(), 50);
  },
  "no response": () => undefined,
  "502 of a proxy": (_, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>502</h1>"),
  "503 without Retry-After": (_, response) => response.writeHead(503).end(),
};

describe.concurrent("a sign-in", () => {
  test.for(Object.entries(FAULTS))("continues with a longer interval after %s", async ([, fault], context) => {
    const polledAt: number[] = [];
    const issuer = await startProvider(context, (request, response) => {
      if (polledAt.push(performance.now()) === 1) fault(request, response);
      else respond(response, 200, TOKENS);
    });
    expect(await tryToSignIn(issuer)).toEqual({
      result: "token",
      notices: [`a request to ${issuer} failed: trying again until the code expires …`],
    });
    const [first = 0, second = 0] = polledAt;
    expect(second - first).toBeGreaterThan(5_000);
  });

  test("whose code the identity provider does not know asks the person to start again", async (context) => {
    const issuer = await startProvider(context, (_, response) => respond(response, 400, { error: "invalid_grant" }));
    expect(await tryToSignIn(issuer)).toEqual({
      result: "the identity provider no longer accepts the code: run parley login again",
      notices: [],
    });
  });
});

/** Reads the access token of a login whose access token expires in `lifetimeS`. Returns the token, or the error's message. */
async function readToken(
  { onTestFinished }: TestContext,
  issuer: string,
  lifetimeS: number,
): Promise<string | undefined> {
  const dir = await mkdtemp(join(tmpdir(), "parley-sign-in-"));
  onTestFinished(() => rm(dir, { recursive: true }));
  const path = join(dir, "login.json");
  const login = { issuer, clientId: "cli", parameters: {}, accessToken: "stored", refreshToken: "refresh" };
  const expiresAt = Math.floor(Date.now() / 1_000) + lifetimeS;
  await writeLogin(path, { ...login, expiresAt });
  const token = await readAccessToken(path, () => undefined).catch((error: Error) => error.message);
  if (token === "stored") expect(await readLogin(path)).toEqual({ ...login, expiresAt });
  return token;
}

describe.concurrent("an access token that expires soon", () => {
  test.for(Object.entries(FAULTS))(
    "is used until it expires if the refresh fails with %s",
    async ([, fault], context) => {
      const issuer = await startProvider(context, fault);
      const tokens = Promise.all([readToken(context, issuer, 60), readToken(context, issuer, 0)]);
      expect(await tokens).toEqual(["stored", expect.stringContaining(issuer)]);
    },
  );

  test("is not used if the identity provider refuses the refresh", async (context) => {
    const issuer = await startProvider(context, (_, response) => respond(response, 400, { error: "invalid_grant" }));
    expect(await readToken(context, issuer, 60)).toBe("your login has ended: sign in again with parley login");
  });
});
