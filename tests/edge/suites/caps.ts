import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { metric } from "../../system/metrics.ts";
import type { ServiceProcess } from "../../system/processes.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeStage } from "../edge-stage.ts";

const MODEL = "tokens-10000-every-99";

/** The caps on streams of a process and of a client. */
export function capsSuite(shared: () => EdgeStage): void {
  let stage: EdgeStage;
  let edge: ServiceProcess;
  let tenant: Tenant;
  beforeAll(async () => {
    stage = shared();
    edge = await stage.system.startEdge({ MAX_STREAMS: "5", MAX_STREAMS_PER_CLIENT: "3" });
    tenant = await createTenant(stage.system.admin, { model: `openai:${MODEL}` });
  });

  const open = (address: string, signal?: AbortSignal, url = `http://127.0.0.1:${edge.port}`) =>
    postChat(url, tenant, {}, { headers: { "x-forwarded-for": address }, ...(signal && { signal }) });
  const refusals = (reason: string) => metric(edge, "parley_streams_refused_total", { reason });

  test("beyond its streams a client, and beyond all of them everyone, is told to come again, and no model is asked", async () => {
    const [greedy, other] = [newAddress(), newAddress()];
    const leaving = new AbortController();
    const asked = () => stage.system.provider.requests.filter(({ model }) => model === MODEL).length;
    // A response that nobody refers to is collected, and its stream cancelled.
    const held: Response[] = [];
    const hold = async (address: string, streams: number) => {
      for (let opened = 0; opened < streams; opened++) {
        const response = await open(address, leaving.signal);
        expect(response.status).toBe(200);
        held.push(response);
      }
    };
    await hold(greedy, 3);

    const overloaded = async (response: Response) => {
      expect([response.status, await response.text()]).toEqual([503, '{"error":"overloaded"}']);
      expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect(response.headers.get("access-control-allow-origin")).toBe(tenant.origin);
    };
    await overloaded(await open(greedy));
    await hold(other, 2);
    await overloaded(await open(newAddress()));

    const { workspaceId, botSlug } = tenant;
    const token = await stage.system.sso.token({ workspaceId });
    const playground = await fetch(`http://127.0.0.1:${edge.port}/api/chat/playground/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ bot_slug: botSlug, session_id: crypto.randomUUID(), message: "Hello?" }),
    });
    expect([playground.status, await playground.text()]).toEqual([503, '{"detail":"overloaded"}']);

    expect([await refusals("client"), await refusals("process")]).toEqual([1, 2]);
    await expect.poll(asked).toBe(5);
    leaving.abort();
    held.length = 0;
    await expect.poll(() => metric(edge, "parley_streams_open"), { timeout: 5_000 }).toBe(0);
    const again = new AbortController();
    expect((await open(greedy, again.signal)).status).toBe(200);
    again.abort();
  });

  test("with the default caps, the 60 requests a minute that an address has give 60 streams at once", async () => {
    const address = newAddress();
    const leaving = new AbortController();
    const responses = await Promise.all(
      Array.from({ length: 60 }, () => open(address, leaving.signal, stage.system.url())),
    );
    expect(Map.groupBy(responses, ({ status }) => status).get(200)).toHaveLength(60);
    const over = await open(address, leaving.signal, stage.system.url());
    expect([over.status, await over.text()]).toEqual([429, '{"error":"rate_limited"}']);
    leaving.abort();
  });
}
