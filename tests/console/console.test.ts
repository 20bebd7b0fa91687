import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { readSse } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  CONSOLE_WORKSPACE,
  type ConsoleProcess,
  type DevelopmentSso,
  requestOwnersToken,
  startConsole,
  startDevelopmentSso,
} from "../system/console.ts";
import { readMetric } from "../system/metrics.ts";
import type { System } from "../system/system.ts";
import { type ConsoleSystem, startConsoleSystem } from "./console-system.ts";
import { type SignedInClient, signIn } from "./owner.ts";
import { forwardingSuite } from "./suites/forwarding.ts";
import { webhookCallsSuite } from "./suites/webhook-calls.ts";
import { websiteCallsSuite } from "./suites/website-calls.ts";

const BOTS = "parley.conversation.v1.BotAdminService";
const USAGE = "parley.quota.v1.WorkspaceAdminService/ShowUsage";

let installation: ConsoleSystem;
let sso: DevelopmentSso;
let system: System;
let consoleProcess: ConsoleProcess;
let owner: SignedInClient;

beforeAll(async () => {
  installation = await startConsoleSystem();
  ({ sso, system, consoleProcess } = installation);
  owner = await signIn(consoleProcess.url);
});
afterAll(() => installation?.stop());

forwardingSuite(() => ({ ...installation, owner }));
webhookCallsSuite(() => installation);
websiteCallsSuite(() => installation);

describe("sign-in", () => {
  it("uses the code flow with PKCE, and returns to the requested screen", async () => {
    const response = await fetch(`${consoleProcess.url}/auth/sign-in`, { redirect: "manual" });
    const query = new URL(response.headers.get("location") ?? "").searchParams;
    expect([query.get("response_type"), query.get("code_challenge_method")]).toEqual(["code", "S256"]);
    const { send } = await signIn(consoleProcess.url, "/keys");
    expect(await (await send("/auth/session")).json()).toMatchObject({
      user: "Demo owner",
      workspace_id: CONSOLE_WORKSPACE,
    });
  });

  it.each([
    ["demo-owner", "owner"],
    ["demo-agent", "agent"],
    ["demo-viewer", "viewer"],
    ["demo-guest", undefined],
  ])("gives the session of %s the role %s, and embeds the session in the page", async (account, role) => {
    const { send } = await signIn(consoleProcess.url, "/", account);
    const session = (await (await send("/auth/session")).json()) as { role?: string };
    expect(session.role).toBe(role);
    const [, content = ""] =
      /<meta name="parley-session" content="([^"]*)"/.exec(await (await send("/bots")).text()) ?? [];
    expect(JSON.parse(content.replaceAll("&quot;", '"'))).toEqual(session);
  });

  it("stores the session in __Host- cookies that scripts cannot read", () => {
    const session = owner.receivedSetCookieHeaders().filter((header) => /^__Host-parley-session\.\d=[^;]/.test(header));
    expect(session.length).toBeGreaterThan(0);
    expect(session.length).toBeLessThanOrEqual(3);
    for (const header of session) expect(header).toMatch(/Path=\/; HttpOnly; Secure; SameSite=Lax/);
  });

  it("redirects a callback without a pending sign-in to the page /sign-in, with an error", async () => {
    const response = await fetch(`${consoleProcess.url}/auth/callback?code=x&state=y`, { redirect: "manual" });
    expect(response.headers.get("location")).toBe("/sign-in?error=sign_in_expired");
  });

  it("leaves the session unchanged at a refresh while its token is still fresh", async () => {
    const response = await owner.post("/auth/refresh");
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ workspace_id: CONSOLE_WORKSPACE });
    expect(response.headers.getSetCookie()).toEqual([]);
  });

  it("clears the cookies at sign-out", async () => {
    const leaving = await signIn(consoleProcess.url);
    const response = await leaving.post("/auth/sign-out");
    expect(response.status).toBe(204);
    expect((await leaving.send("/auth/session")).status).toBe(401);
    expect((await leaving.post(`/api/rpc/${BOTS}/ListBots`)).status).toBe(401);
  });

  it("the development sign-in refuses a request whose Host header is not a loopback host", async () => {
    // fetch cannot set the Host header.
    const status = await new Promise<number | undefined>((resolve, reject) => {
      const url = new URL("/.well-known/openid-configuration", sso.issuer);
      request(url, { headers: { host: "evil.example" } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    expect(status).toBe(421);
  });
});

describe("a token that expires soon", () => {
  // A refresh keeps a token that is valid for more than two minutes. This TTL is shorter, so every refresh asks the identity provider.
  const TTL_SECONDS = 100;
  const resources = new AsyncDisposableStack();
  let shortConsole: ConsoleProcess;
  afterAll(() => resources.disposeAsync());
  beforeAll(async () => {
    const shortSso = await startDevelopmentSso({ TOKEN_TTL_SECONDS: String(TTL_SECONDS) });
    resources.defer(() => shortSso.stop());
    const unused = "http://127.0.0.1:1";
    shortConsole = await startConsole({
      sso: shortSso,
      conversationUrl: unused,
      quotaUrl: unused,
      edgeUrl: unused,
    });
    resources.defer(() => shortConsole.stop());
  });

  it("is replaced at a refresh", async () => {
    const { send, post } = await signIn(shortConsole.url);
    const expiry = async () => ((await (await send("/auth/session")).json()) as { expires_at: string }).expires_at;
    const before = await expiry();
    // A token's expiry is in whole seconds.
    await sleep(1_100);
    expect((await post("/auth/refresh")).status).toBe(200);
    expect(Date.parse(await expiry())).toBeGreaterThan(Date.parse(before));
  });

  it("is not replaced after a sign-out, even with a copy of the cookies", async () => {
    const leaving = await signIn(shortConsole.url);
    const copy = leaving.copy();
    expect((await leaving.post("/auth/sign-out")).status).toBe(204);
    expect((await copy.post("/auth/refresh")).status).toBe(401);
    expect(shortConsole.process.output()).not.toContain("token revocation failed");
  });
});

describe("calls", () => {
  it("forwards a call with the owner's token, and returns the error code of the call", async () => {
    const response = await owner.post(`/api/rpc/${BOTS}/GetBot`, { slug: "missing" });
    expect([response.status, response.headers.get("parley-code")]).toEqual([404, "bot_not_found"]);
  });

  it("returns 404 for a call that names another workspace", async () => {
    const { workspace } = await system.admin.workspaces.createWorkspace({ name: "Other", plan: "free" });
    const response = await owner.post(`/api/rpc/${BOTS}/ListBots`, { workspaceId: workspace?.id });
    expect([response.status, response.headers.get("parley-code")]).toEqual([404, "workspace_not_found"]);
  });

  it("returns 404 for a method that the console does not forward", async () => {
    for (const method of ["parley.quota.v1.WorkspaceAdminService/SetPlan", `${BOTS}/../ListBots`, "x"])
      expect((await owner.post(`/api/rpc/${method}`, {})).status, method).toBe(404);
  });

  it.each([
    ["without the header x-parley-console", { origin: "own" }],
    ["of another origin", { origin: "https://evil.example", "x-parley-console": "1" }],
    ["without an origin", { "x-parley-console": "1" }],
    // A browser adds Basic credentials to each request if a proxy in front of the console asks for a password.
    ["of another origin with Basic credentials", { origin: "https://evil.example", authorization: "Basic eDp5" }],
  ])("refuses a request %s", async (_, headers) => {
    const sent = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, value === "own" ? consoleProcess.url : value]),
    );
    const all = { "content-type": "application/json", ...sent };
    const playgroundPaths = ["/api/chat/playground/", "/api/chat/playground/stop/"];
    for (const path of [`/api/rpc/${USAGE}`, "/auth/refresh", "/auth/sign-out", ...playgroundPaths]) {
      const response = await owner.post(path, {}, all);
      expect([response.status, await response.json()], path).toEqual([403, { error: "cross_site_request" }]);
    }
  });

  it.each(["Bearer x", "bearer x", "Bearer ", "Basic eDp5", "Token x"])(
    "refuses a request with cookies of another origin with %j to a route that ignores the header",
    async (authorization) => {
      for (const path of ["/auth/refresh", "/auth/sign-out", "/auth/no-such-route"]) {
        const headers = { origin: "https://evil.example", authorization };
        const response = await owner.post(path, {}, headers);
        expect([response.status, await response.json()], path).toEqual([403, { error: "cross_site_request" }]);
      }
      expect((await owner.send("/auth/session")).status).toBe(200);
    },
  );

  it("accepts an access token in place of the cookies, and no other bearer token", async () => {
    const token = await requestOwnersToken(sso);
    const send = (authorization: string) =>
      fetch(`${consoleProcess.url}/api/rpc/${USAGE}`, {
        method: "POST",
        headers: { authorization, "content-type": "application/json" },
        body: "{}",
      });
    expect((await send(`Bearer ${token}`)).status).toBe(200);
    expect((await send("Bearer admin")).status).toBe(401);
    const forged = await send("Bearer a.b.c");
    expect([forged.status, await forged.json()]).toEqual([401, { error: "authentication_required" }]);
  });

  it("lets an owner use the playground after 350 requests with invalid tokens", async () => {
    const body = { bot_slug: "guide", session_id: crypto.randomUUID(), message: "hello" };
    // The edge accepts 300 requests with invalid tokens a minute from one address. If the console forwarded these requests, the edge would
    // refuse further requests of the console.
    const forged = Array.from({ length: 350 }, () =>
      owner.post("/api/chat/playground/", body, { authorization: "Bearer a.b.c", "content-type": "application/json" }),
    );
    const statuses = (await Promise.all(forged)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect((await owner.post("/api/chat/playground/", body)).status).toBe(200);
  });

  it("returns unavailable when a service does not answer, and works again when it does", async () => {
    await system.quota.stop();
    const during = await owner.post(`/api/rpc/${USAGE}`);
    expect([during.status, during.headers.get("parley-code")]).toEqual([503, "unavailable"]);
    expect((await owner.post(`/api/rpc/${BOTS}/ListBots`)).status).toBe(200);
    await system.quota.start();
    expect(await (await owner.post(`/api/rpc/${USAGE}`)).json()).toMatchObject({ usage: { plan: "pro", cap: 5000 } });
    // The edge has a connection of its own to the quota service. Until it is open again, the replies of the next tests would fail.
    const sendMessage = async () => {
      const fields = { bot_slug: "guide", session_id: crypto.randomUUID(), message: "hello" };
      return (await owner.post("/api/chat/playground/", fields)).text();
    };
    await expect.poll(sendMessage, { timeout: 10_000 }).toContain('"finish_reason":"stop"');
  });

  it("streams the playground's reply", async () => {
    await system.admin.bots.createBot({
      workspaceId: CONSOLE_WORKSPACE,
      slug: "stalling",
      changes: { model: "openai:stall-after-1" },
    });
    const response = await owner.post("/api/chat/playground/", {
      bot_slug: "stalling",
      session_id: crypto.randomUUID(),
      message: "hello",
    });
    const names: string[] = [];
    for await (const item of readSse(response)) {
      if ("event" in item) names.push(item.event);
      if (names.includes("token")) break;
    }
    expect(names).toEqual(["meta", "token"]);
    // Without streaming, the token would arrive only after llm-proxy has timed out and closed this request.
    const request = system.provider.requests.find(({ model }) => model === "stall-after-1");
    expect(request).toMatchObject({ tokensSent: 1 });
    expect(request).not.toHaveProperty("closedByClientAt");
  });

  it("resumes the playground's reply if the request is repeated with its idempotency key, and calls the model once", async () => {
    await system.admin.bots.createBot({
      workspaceId: CONSOLE_WORKSPACE,
      slug: "steady",
      changes: { model: "openai:tokens-5-every-100" },
    });
    const { send } = keyedMessage("steady");
    const before = system.provider.requests.length;
    const whole = await (await send()).text();
    const [first, second = ""] = [...whole.matchAll(/^id: (.+)$/gm)].map(([, id]) => id);
    expect(first).toMatch(/^\d+-0$/);
    const rest = await (await send({ "last-event-id": second })).text();
    const [firstToken = "", ...others] = tokensOf(whole);
    expect(firstToken).not.toBe("");
    expect(tokensOf(rest).join("")).toBe(others.join(""));
    expect(rest).toContain("event: done");
    expect(system.provider.requests.length).toBe(before + 1);
    const refused = await send({ "last-event-id": "1-0" });
    expect([refused.status, await refused.json()]).toEqual([400, { detail: "invalid_last_event_id" }]);
  });

  it("stops the playground's reply", async () => {
    await system.admin.bots.createBot({
      workspaceId: CONSOLE_WORKSPACE,
      slug: "slow",
      changes: { model: "openai:tokens-100-every-100" },
    });
    const { send, fields, key } = keyedMessage("slow");
    const reply = await send();
    const { message: _, ...target } = fields;
    const response = await owner.post("/api/chat/playground/stop/", { ...target, idempotency_key: key });
    expect([response.status, await response.json()]).toEqual([200, { status: "cancelled" }]);
    expect(await reply.text()).toMatch(/event: done\ndata: \{"finish_reason":"cancelled"/);
  });
});

describe("exports", () => {
  it("downloads an export for a signed-in owner, and returns 401 without a sign-in", async () => {
    const path = "/api/conversations/export.csv?bot_slug=guide";
    const response = await owner.send(path);
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="conversations.csv"');
    expect(await response.text()).toMatch(/^session_id,bot_slug,/);
    expect((await owner.send(`${path}&q=v`)).status).toBe(400);
    expect((await fetch(consoleProcess.url + path)).status).toBe(401);
  });

  it("does not send the owner's token to the host of an absolute URL in the request line", async () => {
    const { hostname, port } = new URL(consoleProcess.url);
    const received: string[] = [];
    const other = createServer(({ headers }, response) => {
      received.push(headers.authorization ?? "");
      response.end();
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const path = `http://127.0.0.1:${(other.address() as AddressInfo).port}/api/conversations/export.csv`;
    const headers = { authorization: `Bearer ${await requestOwnersToken(sso)}` };
    const status = await new Promise<number | undefined>((resolve, reject) => {
      request({ hostname, port, path, headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on("error", reject)
        .end();
    });
    other.close();
    expect([status, received]).toEqual([200, []]);
  });
});

describe("the page", () => {
  it("has a strict Content-Security-Policy with a new nonce for each response", async () => {
    const load = async () => {
      const response = await fetch(`${consoleProcess.url}/bots`);
      const policy = response.headers.get("content-security-policy") ?? "";
      const [, nonce = ""] = /'nonce-([^']+)'/.exec(policy) ?? [];
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
      expect(policy).not.toMatch(/unsafe-/);
      expect(await response.text()).toContain(`nonce="${nonce}"`);
      expect(response.headers.get("cache-control")).toBe("no-store");
      return nonce;
    };
    expect(await load()).not.toBe(await load());
  });

  it("answers HEAD like GET, without the body", async () => {
    const response = await fetch(`${consoleProcess.url}/bots`, { method: "HEAD" });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await response.text()).toBe("");
  });

  it("cannot be framed, and only the console can frame its preview", async () => {
    const policyOf = async (path: string) =>
      (await fetch(consoleProcess.url + path)).headers.get("content-security-policy") ?? "";
    expect(await policyOf("/")).toContain("frame-ancestors 'none'");
    expect(await policyOf("/preview")).toContain("frame-ancestors 'self'");
  });

  it("lets browsers cache a script, whose name contains a hash, for a year", async () => {
    const html = await (await fetch(consoleProcess.url)).text();
    const [, script = ""] = /src="(\/assets\/[^"]+\.js)"/.exec(html) ?? [];
    const response = await fetch(consoleProcess.url + script, { headers: { "accept-encoding": "gzip" } });
    // An unread body keeps its connection open, and the console waits for open connections when it stops.
    expect(await response.text()).toContain("import(");
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect((await fetch(`${consoleProcess.url}/assets/missing.js`)).status).toBe(404);
  });
});

describe("operation", () => {
  it("counts requests, calls and sign-ins", async () => {
    const count = (name: string, labels: Record<string, string>) => readMetric(consoleProcess, name, labels);
    expect(await count("parley_console_calls_total", { method: USAGE, status: "200" })).toBeGreaterThan(0);
    expect(await count("parley_console_sign_ins_total", { result: "signed_in" })).toBeGreaterThan(0);
    expect(
      await count("parley_console_request_duration_seconds_count", { route: "/api/rpc/*", status: "200" }),
    ).toBeGreaterThan(0);
  });

  it("finishes a streaming reply before it stops", async () => {
    await system.admin.bots.createBot({
      workspaceId: CONSOLE_WORKSPACE,
      slug: "leisurely",
      changes: { model: "openai:tokens-10-every-100" },
    });
    const response = await owner.post("/api/chat/playground/", {
      bot_slug: "leisurely",
      session_id: crypto.randomUUID(),
      message: "hello",
    });
    const stopping = consoleProcess.process.stop("SIGTERM");
    expect(await response.text()).toContain("event: done");
    expect((await stopping).code).toBe(0);
  });
});

/** Returns a message to a bot's playground with an idempotency key, and a function that sends it. */
function keyedMessage(botSlug: string) {
  const key = crypto.randomUUID();
  const fields = { bot_slug: botSlug, session_id: crypto.randomUUID(), message: "hello" };
  const pageHeaders = { origin: consoleProcess.url, "x-parley-console": "1", "content-type": "application/json" };
  const send = (headers: Record<string, string> = {}) =>
    owner.post("/api/chat/playground/", fields, { ...pageHeaders, "idempotency-key": key, ...headers });
  return { key, fields, send };
}

/** Returns the texts of a reply's token events. */
function tokensOf(stream: string): string[] {
  const data = [...stream.matchAll(/^event: token\ndata: (.+)$/gm)].map(([, json = ""]) => json);
  return data.map((json) => (JSON.parse(json) as { text: string }).text);
}
