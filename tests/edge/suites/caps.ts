import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { metric } from "../../system/metrics.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";

const MODEL = "tokens-10000-every-99";

/** Tests the caps on open streams per process and per client. */
export function capsSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  let edge: ServiceProcess;
  let tenant: Tenant;
  beforeAll(async () => {
    fixture = shared();
    edge = await fixture.system.startEdge({ MAX_STREAMS: "5", MAX_STREAMS_PER_CLIENT: "3" });
    tenant = await createTenant(fixture.system.admin, { model: `openai:${MODEL}` });
  });

  const open = (address: string, signal?: AbortSignal, url = `http://127.0.0.1:${edge.port}`) =>
    postChat(url, tenant, {}, { headers: { "x-forwarded-for": address }, ...(signal && { signal }) });
  const refusals = (reason: string) => metric(edge, "parley_streams_refused_total", { reason });

  test("returns 503 with Retry-After above the caps per client and per process, without calling the provider", async () => {
    const [greedy, other] = [newAddress(), newAddress()];
    const disconnect = new AbortController();
    const providerRequests = () => fixture.system.provider.requests.filter(({ model }) => model === MODEL).length;
    // References the open responses, because the garbage collection of a response cancels its stream.
    const openResponses: Response[] = [];
    const hold = async (address: string, streams: number) => {
      for (let opened = 0; opened < streams; opened++) {
        const response = await open(address, disconnect.signal);
        expect(response.status).toBe(200);
        openResponses.push(response);
      }
    };
    await hold(greedy, 3);

    const expectOverloaded = async (response: Response) => {
      expect([response.status, await response.text()]).toEqual([503, '{"error":"overloaded"}']);
      expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect(response.headers.get("access-control-allow-origin")).toBe(tenant.origin);
    };
    await expectOverloaded(await open(greedy));
    await hold(other, 2);
    await expectOverloaded(await open(newAddress()));

    const { workspaceId, botSlug } = tenant;
    const token = await fixture.system.sso.token({ workspaceId });
    const playground = await fetch(`http://127.0.0.1:${edge.port}/api/chat/playground/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ bot_slug: botSlug, session_id: crypto.randomUUID(), message: "Hello?" }),
    });
    expect([playground.status, await playground.text()]).toEqual([503, '{"detail":"overloaded"}']);

    expect([await refusals("client"), await refusals("process")]).toEqual([1, 2]);
    await expect.poll(providerRequests).toBe(5);
    disconnect.abort();
    openResponses.length = 0;
    await expect.poll(() => metric(edge, "parley_streams_open"), { timeout: 5_000 }).toBe(0);
    const again = new AbortController();
    expect((await open(greedy, again.signal)).status).toBe(200);
    again.abort();
  });

  test("the default caps allow an address 60 concurrent streams, one for each request of its rate limit", async () => {
    const address = newAddress();
    const disconnect = new AbortController();
    const responses = await Promise.all(
      Array.from({ length: 60 }, () => open(address, disconnect.signal, fixture.system.url())),
    );
    expect(Map.groupBy(responses, ({ status }) => status).get(200)).toHaveLength(60);
    const over = await open(address, disconnect.signal, fixture.system.url());
    expect([over.status, await over.text()]).toEqual([429, '{"error":"rate_limited"}']);
    disconnect.abort();
  });
}
