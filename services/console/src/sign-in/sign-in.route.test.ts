import cookie from "@fastify/cookie";
import Fastify from "fastify";
import { UnsecuredJWT } from "jose";
import { expect, onTestFinished, test } from "vitest";
import { HttpError } from "../http/index.ts";
import { createSessionCookies, type PendingSignIn } from "./cookies.ts";
import type { ProviderClient, Tokens } from "./provider.client.ts";
import { signInRoutes } from "./sign-in.route.ts";

const ORIGIN = "https://console.example";
const tokenOptions = { audience: "parley", workspaceClaim: "workspace", roles: undefined };

/** Returns an access token and a refresh token. By default, the access token expires so soon that the console refreshes it. */
const tokensFor = (audience: string, expiresIn = "1 minute"): Tokens => ({
  accessToken: new UnsecuredJWT({ workspace: "w" })
    .setSubject("owner")
    .setAudience(audience)
    .setExpirationTime(expiresIn)
    .encode(),
  refreshToken: "refresh",
});

/**
 * Starts the routes with a provider that accepts every authorization code. Each call of its `begin` or `complete` throws the next error of
 * `failures`, if there is one.
 */
async function startRoutes(refresh: ProviderClient["refresh"] = async () => undefined) {
  let started = 0;
  const failures: HttpError[] = [];
  const throwNextFailure = () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
  };
  const provider: ProviderClient = {
    begin: async (returnTo) => {
      throwNextFailure();
      const state = `state-${++started}`;
      const pending: PendingSignIn = { state, nonce: "n", codeVerifier: "v", returnTo };
      return { url: new URL(`https://issuer.example/?state=${state}`), pending };
    },
    complete: async (callback, { state }) => {
      throwNextFailure();
      if (callback.searchParams.get("state") !== state) throw new HttpError(400, "sign_in_refused");
      return tokensFor("parley");
    },
    refresh,
    revoke: async () => undefined,
  };
  const app = Fastify();
  await app.register(cookie);
  onTestFinished(() => app.close());
  const results: string[] = [];
  let clockOffsetMs = 0;
  const nowMs = () => Date.now() + clockOffsetMs;
  const cookies = createSessionCookies(() => ["a secret of at least 32 characters"], nowMs);
  const onResult = (result: string) => results.push(result);
  signInRoutes(app, { cookies, provider, tokenOptions, origin: ORIGIN, nowMs, onResult });
  const jar = new Map<string, string>();
  /** Sends a request with the cookies of the previous responses. */
  const send = async (method: "GET" | "POST", url: string) => {
    const response = await app.inject({ method, url, cookies: Object.fromEntries(jar) });
    for (const { name, value } of response.cookies) value === "" ? jar.delete(name) : jar.set(name, value);
    return response;
  };
  /** Starts a sign-in. Returns the callback's URL. */
  const begin = async (returnTo: string) => {
    const { headers } = await send("GET", `/auth/sign-in?return_to=${encodeURIComponent(returnTo)}`);
    return `/auth/callback?code=c&state=${new URL(String(headers.location)).searchParams.get("state")}`;
  };
  const advance = (ms: number) => {
    clockOffsetMs += ms;
  };
  return { begin, send, advance, failures, results, jar };
}

test("two tabs can sign in at the same time, and each returns to its screen", async () => {
  const { begin, send, results, jar } = await startRoutes();
  const [keysCallback, usageCallback] = [await begin("/keys"), await begin("/usage")];
  expect((await send("GET", keysCallback)).headers.location).toBe("/keys");
  expect((await send("GET", usageCallback)).headers.location).toBe("/usage");
  expect(results).toEqual(["signed_in", "signed_in"]);
  expect([...jar.keys()]).toEqual(["__Host-parley-session.0"]);
});

test("a callback is accepted once", async () => {
  const { begin, send } = await startRoutes();
  const callback = await begin("/");
  await send("GET", callback);
  expect((await send("GET", callback)).headers.location).toBe("/sign-in?error=sign_in_expired");
});

test("a failed sign-in keeps the screen to return to", async () => {
  const { send, begin, failures } = await startRoutes();
  failures.push(new HttpError(503, "sign_in_unavailable"));
  const unavailable = await send("GET", "/auth/sign-in?return_to=/keys?bot=a");
  expect(unavailable.headers.location).toBe("/sign-in?error=sign_in_unavailable&return_to=%2Fkeys%3Fbot%3Da");
  const callback = await begin("/usage");
  failures.push(new HttpError(400, "sign_in_refused"));
  expect((await send("GET", callback)).headers.location).toBe("/sign-in?error=sign_in_refused&return_to=%2Fusage");
});

test("a sign-in that takes 10 minutes is refused, and only its first callback keeps the screen to return to", async () => {
  const { send, begin, advance, results } = await startRoutes();
  const callback = await begin("/usage");
  advance(10 * 60_000);
  expect((await send("GET", callback)).headers.location).toBe("/sign-in?error=sign_in_expired&return_to=%2Fusage");
  expect((await send("GET", callback)).headers.location).toBe("/sign-in?error=sign_in_expired");
  expect(results).toEqual(["sign_in_expired", "sign_in_expired"]);
});

test("sign-ins that are never completed leave at most three cookies", async () => {
  const { begin, jar } = await startRoutes();
  for (let started = 0; started < 20; started++) {
    await begin("/");
    expect(jar.size).toBeLessThanOrEqual(3);
  }
});

test.each([
  ["sign_in_unavailable", 503, () => Promise.reject(new HttpError(503, "sign_in_unavailable"))],
  ["wrong_audience", 400, async () => tokensFor("another")],
  ["session_ended", 401, async () => undefined],
  ["refreshed", 200, async () => tokensFor("parley")],
])("counts a refresh with the result %s", async (result, status, refresh) => {
  const { begin, send, results } = await startRoutes(refresh);
  await send("GET", await begin("/"));
  const { statusCode } = await send("POST", "/auth/refresh");
  expect([results, statusCode]).toEqual([["signed_in", result], status]);
});

test("a refresh that gets an expired access token ends the session", async () => {
  const { begin, send, results, jar } = await startRoutes(async () => tokensFor("parley", "-1 minute"));
  await send("GET", await begin("/"));
  const response = await send("POST", "/auth/refresh");
  expect([response.statusCode, results]).toEqual([401, ["signed_in", "session_ended"]]);
  expect([...jar.keys()]).toEqual([]);
});
