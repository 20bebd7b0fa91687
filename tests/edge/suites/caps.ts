import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { readMetric } from "../../system/metrics.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { retryIfRedisIsTooSlow } from "../../system/shared-limits.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

const MODEL = "tokens-10000-every-99";

export function capsSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  let edge: ServiceProcess;
  let tenant: Tenant;
  beforeAll(async () => {
    fixture = shared();
    edge = await fixture.system.startEdge({ MAX_STREAMS: "5", MAX_STREAMS_PER_CLIENT: "3" });
    tenant = await createTenant(fixture.system.admin, { model: `openai:${MODEL}` });
  });

  const openStream = (address: string, signal?: AbortSignal, url = `http://127.0.0.1:${edge.port}`) =>
    postChat(url, tenant, {}, { headers: { "x-forwarded-for": address }, ...(signal && { signal }) });
  const countRefusals = (reason: string) => readMetric(edge, "parley_streams_refused_total", { reason });

  test("returns 503 with Retry-After above the caps per client and per process, without calling the provider", async () => {
    const [greedy, other] = [newClientAddress(), newClientAddress()];
    const disconnect = new AbortController();
    const countProviderRequests = () => fixture.system.provider.requests.filter(({ model }) => model === MODEL).length;
    const holdStreams = async (address: string, streams: number) => {
      for (let opened = 0; opened < streams; opened++) {
        expect((await openStream(address, disconnect.signal)).status).toBe(200);
      }
    };
    await holdStreams(greedy, 3);

    const expectOverloaded = async (response: Response) => {
      expect([response.status, await response.text()]).toEqual([503, '{"error":"overloaded"}']);
      expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect(response.headers.get("access-control-allow-origin")).toBe(tenant.origin);
    };
    await expectOverloaded(await openStream(greedy));
    await holdStreams(other, 2);
    await expectOverloaded(await openStream(newClientAddress()));

    const { workspaceId, botSlug } = tenant;
    const token = await fixture.system.sso.token({ workspaceId });
    const playground = await fetch(`http://127.0.0.1:${edge.port}/api/chat/playground/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ bot_slug: botSlug, session_id: crypto.randomUUID(), message: "Hello?" }),
    });
    expect([playground.status, await playground.text()]).toEqual([503, '{"detail":"overloaded"}']);

    expect([await countRefusals("client"), await countRefusals("process")]).toEqual([1, 2]);
    await expect.poll(countProviderRequests, { timeout: 10_000 }).toBe(5);
    disconnect.abort();
    await expect.poll(() => readMetric(edge, "parley_streams_open"), { timeout: 5_000 }).toBe(0);
    const disconnectAgain = new AbortController();
    expect((await openStream(greedy, disconnectAgain.signal)).status).toBe(200);
    disconnectAgain.abort();
  });

  test("the default caps refuse none of the 60 streams that the rate limit lets an address open in a minute", async () => {
    const { edges } = fixture.system;
    const openTooMany = async () => {
      const address = newClientAddress();
      const disconnect = new AbortController();
      const open = () => openStream(address, disconnect.signal, fixture.system.url());
      try {
        const responses = await Promise.all(Array.from({ length: 60 }, open));
        expect(Map.groupBy(responses, ({ status }) => status).get(200)).toHaveLength(60);
        const response = await open();
        // If the edge allowed the stream, reading its text would not end.
        return [response.status, response.status === 200 ? "" : await response.text()];
      } finally {
        disconnect.abort();
      }
    };
    expect(await retryIfRedisIsTooSlow(edges.slice(0, 1), openTooMany)).toEqual([429, '{"error":"rate_limited"}']);
  });
}
