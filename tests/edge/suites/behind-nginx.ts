import { randomUUID } from "node:crypto";
import { readSse } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { type Nginx, startNginx } from "../../system/nginx.ts";
import { createTenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeStage } from "../edge-stage.ts";

/** Behind a proxy that keeps what it may and buffers what it is not told not to. */
export function behindNginxSuite(shared: () => EdgeStage): void {
  let stage: EdgeStage;
  let nginx: Nginx;
  beforeAll(async () => {
    stage = shared();
    nginx = await startNginx(stage.system.edges[0]?.port ?? 0);
  });
  afterAll(() => nginx.stop());

  test("two origins of one key never see each other's headers, from the cache or past it, nor does a stranger", async () => {
    const { workspaceId, botSlug } = await createTenant(stage.system.admin);
    const origins = ["https://one.example", "https://two.example"];
    const domains = origins.map((origin) => new URL(origin).host);
    const { key } = await stage.system.admin.keys.createKey({ workspaceId, botSlug, domains });
    const stranger = "https://stranger.example";
    const hits = new Map<string, number>();
    for (let turn = 0; turn < 60; turn++) {
      const origin = [...origins, stranger][turn % 3] ?? "";
      const response = await fetch(`${nginx.url}/api/widget/config/?public_key=${key?.publicKey}`, {
        headers: { origin, "x-forwarded-for": newAddress() },
      });
      const { headers, status } = response;
      await response.text();
      expect(status).toBe(origin === stranger ? 403 : 200);
      expect(headers.get("access-control-allow-origin")).toBe(origin);
      expect(headers.get("vary")).toBe("Origin");
      if (headers.get("x-cache") === "HIT") hits.set(origin, (hits.get(origin) ?? 0) + 1);
    }
    // The cache was at work, one entry an origin, and kept no refusal.
    expect(new Set(hits.keys())).toEqual(new Set(origins));
    expect(hits.get(origins[0] ?? "")).toBe(19);
  });

  test("events come one by one, as the model writes them", async () => {
    const tenant = await createTenant(stage.system.admin, { model: "openai:tokens-10-every-100" });
    const headers = { "x-forwarded-for": newAddress() };
    const response = await postChat(nginx.url, tenant, { session_id: randomUUID() }, { headers });
    const times: number[] = [];
    for await (const item of readSse(response)) if ("event" in item && item.event === "token") times.push(item.at);
    expect(times).toHaveLength(10);
    // Nine pauses of 100 ms; buffered, all come at once.
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(700);
    const together = times.filter((time, index) => index > 0 && time - (times[index - 1] ?? 0) < 20);
    expect(together.length).toBeLessThanOrEqual(2);
  });
}
