import { randomUUID } from "node:crypto";
import { readSse } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { type Nginx, startNginx } from "../../system/servers/nginx.ts";
import { createTenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

/** Tests an edge behind nginx with its default buffering and a cache for every cacheable response. */
export function behindNginxSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  let nginx: Nginx;
  beforeAll(async () => {
    fixture = shared();
    nginx = await startNginx(fixture.system.edges[0]?.port ?? 0);
  });
  afterAll(() => nginx.stop());

  test("each allowed origin gets its own CORS headers, even in a cached response, and an unlisted origin gets 403", async () => {
    const { workspaceId, botSlug } = await createTenant(fixture.system.admin);
    const origins = ["https://one.example", "https://two.example"];
    const domains = origins.map((origin) => new URL(origin).host);
    const { key } = await fixture.system.admin.keys.createKey({ workspaceId, botSlug, domains });
    const unlisted = "https://unlisted.example";
    const hits = new Map<string, number>();
    for (let index = 0; index < 60; index++) {
      const origin = [...origins, unlisted][index % 3] ?? "";
      const response = await fetch(`${nginx.url}/api/widget/config/?public_key=${key?.publicKey}`, {
        headers: { origin, "x-forwarded-for": newClientAddress() },
      });
      const { headers, status } = response;
      await response.text();
      expect(status).toBe(origin === unlisted ? 403 : 200);
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("vary")).toBe("Origin");
      if (headers.get("x-cache") === "HIT") hits.set(origin, (hits.get(origin) ?? 0) + 1);
    }
    // nginx cached one response for each allowed origin, and no refusal.
    expect(new Set(hits.keys())).toEqual(new Set(origins));
    // Of the 20 requests from the first origin, only the first request was a miss.
    expect(hits.get(origins[0] ?? "")).toBe(19);
  });

  test("each token arrives when the model writes it", async () => {
    const tenant = await createTenant(fixture.system.admin, { model: "openai:tokens-10-every-300" });
    const headers = { "x-forwarded-for": newClientAddress() };
    const response = await postChat(nginx.url, tenant, { session_id: randomUUID() }, { headers });
    const times: number[] = [];
    for await (const item of readSse(response))
      if ("event" in item && item.event === "token") times.push(item.receivedAtMs);
    expect(times).toHaveLength(10);
    // The model pauses nine times for 300 ms. If nginx buffered, all tokens would arrive together.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(2_100);
    const together = times.filter((time, index) => index > 0 && time - (times[index - 1] ?? 0) < 20);
    expect(together.length).toBeLessThanOrEqual(2);
  });
}
