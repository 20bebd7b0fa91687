import cookie from "@fastify/cookie";
import fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSessionCookies, type PendingSignIn } from "./cookies.ts";
import { MAX_SESSION_MS, type Session } from "./session.ts";

const SECRET = "a secret of at least 32 characters";

let nowMs = 0;
let app: FastifyInstance;
beforeEach(async () => {
  nowMs = 1_000_000;
  app = await createApp(SECRET);
});
afterEach(() => app.close());

/** Creates an app. Its POST routes store the body in cookies, as a session or a pending sign-in. Its GET routes return the stored value. */
async function createApp(...secrets: string[]): Promise<FastifyInstance> {
  const instance = fastify();
  await instance.register(cookie);
  const cookies = createSessionCookies(
    () => secrets,
    () => nowMs,
  );
  instance.post<{ Body: Session }>("/", async ({ body }, reply) => ({
    isStored: await cookies.writeSession(reply, body),
  }));
  instance.get("/", async (request) => ({ session: (await cookies.readSession(request)) ?? null }));
  instance.post<{ Body: PendingSignIn }>("/pending", async (request, reply) => {
    await cookies.writePending(request, reply, request.body);
    return {};
  });
  instance.get("/pending", async (request) => ({ pending: (await cookies.readPending(request, "s")) ?? null }));
  return instance;
}

const session = (length: number): Session => ({
  accessToken: "x".repeat(length),
  refreshToken: "refresh",
  startedAtMs: nowMs,
});

async function store(length: number, storingApp = app) {
  const response = await storingApp.inject({ method: "POST", url: "/", payload: session(length) });
  const cookies = response.cookies as { name: string; value: string; [attribute: string]: unknown }[];
  return { isStored: response.json<{ isStored: boolean }>().isStored, cookies: cookies.filter(({ value }) => value) };
}

async function read(cookies: readonly { name: string; value: string }[], readingApp = app): Promise<unknown> {
  const jar = Object.fromEntries(cookies.map(({ name, value }) => [name, value]));
  return (await readingApp.inject({ url: "/", cookies: jar })).json<{ session: unknown }>().session;
}

describe("session cookies", () => {
  it("are encrypted, only for this host, and invisible to scripts", async () => {
    const { cookies } = await store(500);
    expect(cookies).toEqual([
      expect.objectContaining({
        name: "__Host-parley-session.0",
        path: "/",
        secure: true,
        httpOnly: true,
        sameSite: "Lax",
        maxAge: MAX_SESSION_MS / 1_000,
      }),
    ]);
    expect(JSON.stringify(cookies)).not.toContain("refresh");
    expect(await read(cookies)).toEqual(session(500));
  });

  it("split a session that is too large for one cookie", async () => {
    const { cookies } = await store(7_000);
    expect(cookies.length).toBe(3);
    for (const { name, value } of cookies) expect(name.length + value.length).toBeLessThan(4_000);
    expect(await read(cookies)).toEqual(session(7_000));
  });

  it("refuse a session that is too large for three cookies", async () => {
    expect(await store(9_000)).toEqual({ isStored: false, cookies: [] });
  });

  it("are ignored if modified, incomplete, encrypted with another secret, or 12 hours old", async () => {
    const { cookies } = await store(7_000);
    const [first, ...others] = cookies;
    const { name = "", value = "" } = first ?? {};
    const changed = { name, value: `${value.slice(0, -1)}${value.endsWith("A") ? "B" : "A"}` };
    expect(await read([changed, ...others])).toBeNull();
    expect(await read(others)).toBeNull();
    const otherApp = await createApp("another secret of 32 characters!!");
    expect(await read(cookies, otherApp)).toBeNull();
    await otherApp.close();
    nowMs += MAX_SESSION_MS;
    expect(await read(cookies)).toBeNull();
  });

  it("are encrypted with the first of several secrets and decrypted with any of them", async () => {
    const { cookies: old } = await store(500);
    const other = "another secret of 32 characters!!";
    // The steps of a rotation: add the other secret, encrypt with it, remove the old secret.
    const [addingApp, usingApp, removingApp] = [
      await createApp(SECRET, other),
      await createApp(other, SECRET),
      await createApp(other),
    ];
    const { cookies: recent } = await store(500, usingApp);
    for (const [cookies, readingApp, expected] of [
      [old, addingApp, session(500)],
      [recent, addingApp, session(500)],
      [old, usingApp, session(500)],
      [recent, usingApp, session(500)],
      [old, removingApp, null],
      [recent, removingApp, session(500)],
      [recent, app, null],
    ] as const)
      expect(await read(cookies, readingApp)).toEqual(expected);
    for (const each of [addingApp, usingApp, removingApp]) await each.close();
  });

  it("are not accepted as the cookie of a pending sign-in, nor is that cookie accepted as a session cookie", async () => {
    const pending = { state: "s", nonce: "n", codeVerifier: "v", returnTo: "/" };
    const response = await app.inject({ method: "POST", url: "/pending", payload: pending });
    const [{ name = "", value = "" } = {}] = response.cookies;
    const readPending = async (sealed: string) =>
      (await app.inject({ url: "/pending", cookies: { [name]: sealed } })).json<{ pending: unknown }>().pending;
    expect(await readPending(value)).toMatchObject(pending);
    expect(await read([{ name: "__Host-parley-session.0", value }])).toBeNull();
    const { cookies } = await store(500);
    expect(await readPending(cookies[0]?.value ?? "")).toBeNull();
  });
});
