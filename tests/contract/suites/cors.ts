// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import type { Api } from "../support/api.ts";
import { type ContractSystem, MALFORMED_KEY } from "../support/contract-system.ts";

export function corsSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
  });

  const EXPOSED = "Retry-After, RateLimit, RateLimit-Policy, Parley-Error-Field, Parley-Request-Id";

  function expectCors(headers: Headers, origin: string): void {
    expect(headers.get("access-control-allow-origin")).toBe(origin);
    expect(headers.get("vary")).toBe("Origin");
    expect(headers.get("access-control-expose-headers")).toBe(EXPOSED);
    expect(headers.get("access-control-allow-credentials")).toBeNull();
  }

  test("responses and errors allow the request's origin [D11/1-2]", async () => {
    const { origin } = tenant;
    const stream = await api.openChat(tenant);
    await stream.text();
    expectCors(stream.headers, origin);
    expectCors((await api.getConfig(tenant)).headers, origin);

    const elsewhere = "https://elsewhere.example";
    const rating = { public_key: tenant.publicKey, session_id: randomUUID(), message_id: 1, rating: "up" };
    const refusals = [
      api.refusedChat(tenant, { message: "" }, { headers: { origin: elsewhere } }),
      api.refusedChat(tenant, { public_key: MALFORMED_KEY }, { headers: { origin: elsewhere } }),
      api.refusedChat(tenant, {}, { headers: { origin: elsewhere } }),
      api.getConfig(tenant, elsewhere),
      api.call({ method: "POST", path: "/api/chat/rating/", headers: { origin: elsewhere }, body: rating }),
      api.getHistory({ ...tenant, origin: elsewhere }, undefined),
      api.call({ method: "DELETE", path: "/api/chat/", headers: { origin: elsewhere } }),
      api.call({ method: "POST", path: "/api/chat/", headers: { origin: elsewhere }, body: "x".repeat(1_100_000) }),
    ];
    for (const { status, headers } of await Promise.all(refusals)) {
      expect(status).toBeGreaterThanOrEqual(400);
      expectCors(headers, elsewhere);
    }
  });

  test("a request without an Origin header, or with `Origin: null`, gets no Access-Control-Allow-Origin [D11/3]", async () => {
    for (const origin of [null, "null"]) {
      const { headers } = await api.getConfig(tenant, origin);
      expect(headers.get("access-control-allow-origin")).toBeNull();
      expect(headers.get("access-control-expose-headers")).toBeNull();
      expect(headers.get("vary")).toBe("Origin");
    }
  });

  test("endpoints that need an access token allow no origin [D11/1]", async () => {
    const { origin } = tenant;
    const answers = [
      await api.call({ path: `/api/conversations/${randomUUID()}/export.json`, headers: { origin } }),
      await api.call({ method: "POST", path: "/api/chat/playground/", headers: { origin }, body: {} }),
    ];
    for (const { headers } of answers) expect(headers.get("access-control-allow-origin")).toBeNull();
  });

  test("a preflight gets 204 and permits the request's method and headers [D11/4] [D50/8]", async () => {
    const paths = {
      "/api/chat/": "POST",
      "/api/chat/challenge/": "POST",
      "/api/chat/stop/": "POST",
      "/api/chat/rating/": "POST",
      "/api/widget/config/": "GET",
      "/api/chat/sessions/": "GET",
      [`/api/chat/sessions/${randomUUID()}/messages/`]: "GET",
    };
    for (const [path, method] of Object.entries(paths)) {
      const permitted = path.startsWith("/api/chat/sessions/")
        ? "authorization"
        : "content-type, idempotency-key, last-event-id";
      const headers = {
        origin: "https://any.example",
        "access-control-request-method": method,
        "access-control-request-headers": permitted.replaceAll(" ", ""),
      };
      const answer = await api.call({ method: "OPTIONS", path, headers });
      expect(answer.status).toBe(204);
      expectCors(answer.headers, "https://any.example");
      expect(answer.headers.get("access-control-allow-methods")).toContain(method);
      expect(answer.headers.get("access-control-allow-headers")?.toLowerCase()).toBe(permitted);
    }
  });
}
