import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, type TestContext } from "vitest";
import { readLogin, writeLogin } from "../login/login-file.ts";
import { readAccessToken, signIn } from "../login/sign-in.ts";

export const TOKENS = { access_token: "token", token_type: "Bearer", expires_in: 3_600 };

export function respond(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Starts an identity provider with the device flow. `handleToken` responds to polls and token refreshes. Returns the issuer. */
export async function startProvider({ onTestFinished }: TestContext, handleToken: RequestListener): Promise<string> {
  const server = createServer((request, response) => {
    if (request.url === "/token") return handleToken(request, response);
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

/** `result` is the access token or the error's message. */
export async function tryToSignIn(issuer: string): Promise<{ result: string; notices: string[] }> {
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

/** Faulty responses that the client detects without waiting for a timeout. */
export const FAULTS: Record<string, RequestListener> = {
  "a reset connection": (request) => request.socket.resetAndDestroy(),
  "a response that is cut off": (_, response) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "99" }).write("{");
    setTimeout(() => response.destroy(), 50);
  },
  "502 of a proxy": (_, response) => response.writeHead(502, { "content-type": "text/html" }).end("<h1>502</h1>"),
  "503 without Retry-After": (_, response) => response.writeHead(503).end(),
};

/**
 * Stores a login whose access token expires in `lifetimeS` seconds, then reads the token. Returns the token, or the error's message. If it
 * returns the stored token, checks that the stored login has not changed.
 */
export async function storeLoginAndReadToken(
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
