// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { Api, ApiResponse } from "../support/api.ts";
import {
  addKey,
  type ContractSystem,
  formatError,
  formatRefusal,
  MALFORMED_KEY,
  readTranscript,
  UNKNOWN_KEY,
} from "../support/contract-system.ts";

export function keyAndOriginSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin, { domain: "ok.com" });
  });

  const configAnswer = async (key: Tenant, origin: string | null = key.origin) =>
    formatRefusal(await api.getConfig(key, origin));

  test("config returns the bot's display fields to an allowed origin, without a token [1/3] [2.2/1-10] [4.2/2-4] [5/2] [8/5]", async () => {
    const bot = {
      name: "Ada",
      welcome_message: "Hello 👋",
      logo_url: "https://shop.example/logo.svg",
      primary_color: "#12AB9F",
      position: "bottom-left",
      theme_mode: "dark",
      font_family: "Georgia, serif",
      border_radius: 8,
      quick_replies: ["Where is my parcel?", "Opening hours"],
      custom_css_vars: { "--parley-shadow": "none" },
    };
    const shop = await createTenant(system.admin);
    await system.admin.bots.updateBot({
      workspaceId: shop.workspaceId,
      slug: shop.botSlug,
      changes: {
        name: bot.name,
        welcomeMessage: bot.welcome_message,
        logoUrl: bot.logo_url,
        primaryColor: bot.primary_color,
        position: bot.position,
        themeMode: bot.theme_mode,
        fontFamily: bot.font_family,
        borderRadius: bot.border_radius,
        quickReplies: { values: bot.quick_replies },
        customCssVars: { values: bot.custom_css_vars },
      },
    });
    const { status, headers, body } = await api.getConfig(shop);
    expect(status).toBe(200);
    expect(body).toEqual({ bot });
    expect(headers.get("content-type")).toMatch(/^application\/json/);
    expect(headers.get("cache-control")).toBe("public, max-age=60");
  });

  test("a new bot has every display field [2.2/1-10]", async () => {
    const { bot } = (await api.getConfig(tenant)).body as { bot: Record<string, unknown> };
    expect(Object.keys(bot).toSorted()).toEqual([
      "border_radius",
      "custom_css_vars",
      "font_family",
      "logo_url",
      "name",
      "position",
      "primary_color",
      "quick_replies",
      "theme_mode",
      "welcome_message",
    ]);
    expect(Object.values(bot)).not.toContain(null);
    expect(bot).toMatchObject({ name: "Test bot", quick_replies: [], custom_css_vars: {} });
  });

  test("config requires a public_key, and its errors are no-store [4.2/1] [4.2/5] [D12/1-2] [7.1/1]", async () => {
    for (const query of ["", "?public_key=", "?public_key=%20", `?public_key=${tenant.publicKey}&public_key=x`]) {
      const answer = await api.call({ path: `/api/widget/config/${query}`, headers: { origin: tenant.origin } });
      expect(formatRefusal(answer)).toBe(formatError(400, "invalid_message"));
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
    for (const answer of [
      await api.getConfig({ ...tenant, publicKey: MALFORMED_KEY }),
      await api.getConfig(tenant, "https://x.com"),
    ])
      expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test("a key is the prefix svc_pk_ and 32 base62 characters [2.5/1] [D29/1]", () => {
    expect(tenant.publicKey).toMatch(/^svc_pk_[0-9A-Za-z]{32}$/);
  });

  test("a malformed, an unknown and a revoked key get the same 401, the revoked one within 5 s [2.5/3] [5/6] [7.1/6] [4.2/5] [D30/1] [H/2]", async () => {
    const revoked = await addKey(system, tenant, ["ok.com"]);
    expect((await api.getConfig(revoked)).status).toBe(200);
    await system.admin.keys.revokeKey({ publicKey: revoked.publicKey });
    const revokedAt = performance.now();
    // Measures when the requests were sent, because their responses may come late on a busy machine.
    let lastAcceptedAt = revokedAt;
    for (let sentAt = revokedAt; (await api.getConfig(revoked)).status === 200; sentAt = performance.now()) {
      lastAcceptedAt = sentAt;
      await sleep(50);
    }
    expect(lastAcceptedAt - revokedAt).toBeLessThan(5_000);

    const last = tenant.publicKey.slice(-1);
    const keys = [
      revoked.publicKey,
      UNKNOWN_KEY,
      MALFORMED_KEY,
      tenant.publicKey.slice(0, -1) + (last === "a" ? "b" : "a"),
      tenant.publicKey.toLowerCase(),
      `${tenant.publicKey} `,
      "svc_pk_",
      "x",
      "' OR 1=1 --",
      "é".repeat(40),
      "x".repeat(5_000),
    ];
    const origin = tenant.origin;
    for (const key of keys) {
      const chat = await api.refusedChat(tenant, { public_key: key });
      const path = `/api/widget/config/?public_key=${encodeURIComponent(key)}`;
      const rating = await api.rateMessage(
        { ...tenant, publicKey: key },
        { session_id: randomUUID(), message_id: 1, rating: "up" },
      );
      const history = await api.call({
        path: `/api/chat/sessions/?public_key=${encodeURIComponent(key)}`,
        headers: { origin },
      });
      for (const answer of [chat, await api.call({ path, headers: { origin } }), rating, history])
        expect(formatRefusal(answer), key).toBe(formatError(401, "invalid_api_key"));
    }
  });

  test("changed domains of a key take effect within 5 s [2.5/2] [D30/2]", async () => {
    const key = await addKey(system, tenant, ["old.example"]);
    const origins = ["https://old.example", "https://new.example"];
    const statuses = async () =>
      (await Promise.all(origins.map((origin) => api.getConfig(key, origin)))).map(({ status }) => status);
    expect(await statuses()).toEqual([200, 403]);
    await system.admin.keys.updateKey({ publicKey: key.publicKey, domains: ["new.example"] });
    const updatedAt = performance.now();
    // Measures when the requests were sent, because their responses may come late on a busy machine.
    let lastAcceptedAt = updatedAt;
    for (let sentAt = updatedAt; (await statuses())[0] === 200; sentAt = performance.now()) {
      lastAcceptedAt = sentAt;
      await sleep(50);
    }
    expect(lastAcceptedAt - updatedAt).toBeLessThan(5_000);
    expect(await statuses()).toEqual([403, 200]);
  });

  test("a client's unknown keys cause at most 20 lookups a second, and a known key still works [D28/1]", async () => {
    const lookups = async () => {
      const metrics = await (await fetch(`http://127.0.0.1:${system.conversation.opsPort}/metrics`)).text();
      const counts = metrics.matchAll(/^parley_rpc_server_duration_seconds_count\{[^}]*ResolveKey[^}]*\} (\d+)$/gm);
      return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const address = newClientAddress();
    const requestConfig = (key: string) =>
      api.call({ path: `/api/widget/config/?public_key=${key}`, headers: { origin: tenant.origin }, address });
    await api.getConfig(tenant);
    const before = await lookups();
    const startedAt = performance.now();
    const unknownKeys = Array.from({ length: 200 }, (_, index) => `svc_pk_${String(index).padStart(32, "a")}`);
    const answers = await Promise.all(unknownKeys.map(requestConfig));
    const seconds = Math.ceil((performance.now() - startedAt) / 1_000);
    expect(new Set(answers.map(formatRefusal))).toEqual(
      new Set([formatError(401, "invalid_api_key"), formatError(429, "rate_limited")]),
    );
    expect(await lookups()).toBeLessThanOrEqual(before + 20 * seconds);
    expect((await requestConfig(tenant.publicKey)).status).toBe(200);
    const another = await addKey(system, tenant, ["ok.com"]);
    await expect.poll(async () => (await requestConfig(another.publicKey)).status, { timeout: 10_000 }).toBe(200);
  });

  /** Returns the origins that a key for these domains allows. */
  async function allowedOrigins(domains: string[], origins: string[]): Promise<string[]> {
    const key = await addKey(system, tenant, domains);
    const answers = await Promise.all(
      origins.map(async (origin) => [origin, await configAnswer(key, origin)] as const),
    );
    return answers.filter(([, answer]) => answer !== formatError(403, "origin_not_allowed")).map(([origin]) => origin);
  }

  test("a missing origin, and one that only resembles an allowed one, get 403 from chat, config, rating and history [2.5/2] [5/5] [5/7] [7.1/7] [D9/1] [D10/5] [H/1]", async () => {
    const origins = [
      "https://ok.com.evil.com",
      "https://ok.com@evil.com",
      "https://evilok.com",
      "https://ok.com.",
      "https://ok.com:8443",
      "https://ok.com\\.evil.com",
      "https://o%6b.com",
      "https://OK.com",
      "https://ok.com/",
      "https://ok.com:443",
      "https://www.ok.com",
      "http://ok.com",
      "https://ok.com https://evil.com",
      "HTTPS://ok.com",
      "ok.com",
      "null",
      "",
      null,
    ];
    for (const origin of origins) {
      const headers: Record<string, string> = origin === null ? {} : { origin };
      const body = { public_key: tenant.publicKey, session_id: randomUUID(), message: "Hello?" };
      const calls: Promise<ApiResponse>[] = [
        api.call({ method: "POST", path: "/api/chat/", headers, body }),
        api.call({
          method: "POST",
          path: "/api/chat/rating/",
          headers,
          body: { ...body, message_id: 1, rating: "up" },
        }),
        api.call({ path: `/api/widget/config/?public_key=${tenant.publicKey}`, headers }),
        api.call({ path: `/api/chat/sessions/?public_key=${tenant.publicKey}`, headers }),
        api.call({ path: `/api/chat/sessions/${randomUUID()}/messages/?public_key=${tenant.publicKey}`, headers }),
      ];
      for (const answer of await Promise.all(calls))
        expect(formatRefusal(answer), `${origin}`).toBe(formatError(403, "origin_not_allowed"));
    }
  });

  test("a key works from each of its allowed origins [5/1] [5/5] [4.1/1]", async () => {
    const key = await addKey(system, tenant, ["first.example", "second.example"]);
    for (const origin of ["https://first.example", "https://second.example"])
      expect((await api.chat({ ...key, origin })).done?.finish_reason).toBe("stop");
  });

  test("a wildcard matches subdomains of any depth, but not the apex [D10/1]", async () => {
    const origins = [
      "https://a.w.example",
      "https://a.b.c.w.example",
      "https://w.example",
      "https://aw.example",
      "https://.w.example",
    ];
    expect(await allowedOrigins(["*.w.example"], origins)).toEqual(origins.slice(0, 2));
  });

  test("a domain entry may have a scheme and a port; without a scheme it allows https [D10/2]", async () => {
    const origins = ["https://s.example", "http://s.example", "https://s.example:8443", "http://s.example:8443"];
    expect(await allowedOrigins(["s.example"], origins)).toEqual(["https://s.example"]);
    expect(await allowedOrigins(["http://s.example"], origins)).toEqual(["http://s.example"]);
    expect(await allowedOrigins(["s.example:8443"], origins)).toEqual(["https://s.example:8443"]);
    expect(await allowedOrigins(["http://s.example:8443"], origins)).toEqual(["http://s.example:8443"]);
  });

  test("an entry for localhost or 127.0.0.1 also allows http, and any port if the entry has no port [D10/3]", async () => {
    const origins = [
      "http://localhost",
      "https://localhost",
      "http://localhost:3000",
      "http://127.0.0.1:3000",
      "http://a.localhost",
    ];
    expect(await allowedOrigins(["localhost"], origins)).toEqual(origins.slice(0, 3));
    expect(await allowedOrigins(["127.0.0.1"], origins)).toEqual(["http://127.0.0.1:3000"]);
    expect(await allowedOrigins(["localhost:3000"], origins)).toEqual(["http://localhost:3000"]);
    expect(await allowedOrigins(["localhost:80"], origins)).toEqual(["http://localhost"]);
    expect(await allowedOrigins(["localhost:443"], origins)).toEqual(["https://localhost"]);
  });

  test("domain entries are stored in normalized form [D10/4]", async () => {
    const { workspaceId, botSlug } = tenant;
    const domains = [
      "MÜNCHEN.example",
      "Https://Shop.Example:443",
      "http://Shop.Example:80",
      "*.Ünï.example",
      "LOCALHOST:443",
      "https://page.example/path?x=1#y",
      "Capacitor://localhost",
    ];
    const { key } = await system.admin.keys.createKey({ workspaceId, botSlug, domains });
    expect(key?.allowedDomains).toEqual(
      expect.arrayContaining([
        "xn--mnchen-3ya.example",
        "https://shop.example",
        "http://shop.example",
        "localhost:443",
        "https://page.example",
        "capacitor://localhost",
      ]),
    );
    const withKey = { ...tenant, publicKey: key?.publicKey ?? "" };
    const allowed = ["https://xn--mnchen-3ya.example", "https://shop.example", "http://shop.example"];
    for (const origin of [...allowed, "https://page.example", "capacitor://localhost"])
      expect((await api.getConfig(withKey, origin)).status, origin).toBe(200);
    for (const origin of ["capacitor://localhost:1", "ionic://localhost", "null", "https://page.example/path"])
      expect((await api.getConfig(withKey, origin)).status, origin).toBe(403);
  });

  test("the session stores the referrer, the user agent, the visitor id and the metadata [2.1/6-7] [2.3/4-7]", async () => {
    const session_id = randomUUID();
    const headers = { referer: "https://ok.com/prices?a=1", "user-agent": "Visitor/1.0" };
    const visitor = {
      visitor_id: "customer 42",
      visitor_metadata: { plan: "gold", tags: ["a", 1, null, { b: true }] },
    };
    await api.chat(tenant, { session_id, ...visitor }, headers);
    const { session } = await readTranscript(system, tenant, session_id);
    expect(session).toMatchObject({ ...visitor, referrer: headers.referer, user_agent: "Visitor/1.0" });
  });
}
