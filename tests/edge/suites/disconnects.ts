import { setTimeout as sleep } from "node:timers/promises";
import { quickOrFull, readSse } from "@parley/test-support";
import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { queryFirstRow, readBalance } from "../../system/database.ts";
import { mapConcurrently } from "../../system/map-concurrently.ts";
import { createTenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { EdgeFixture } from "../edge-fixture.ts";
import { lastMessage } from "../scripted-faults.ts";

const VISITORS = quickOrFull(100, 1_000);
const EARLY_VISITORS = quickOrFull(60, 1_000);

export function disconnectsSuite(shared: () => EdgeFixture): void {
  let fixture: EdgeFixture;
  beforeAll(() => {
    fixture = shared();
  });

  test(`${VISITORS} visitors disconnect at a random token: the provider request is cancelled within a second, and no hold remains`, async () => {
    const { system } = fixture;
    const tenant = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-1000-every-20" });
    const seed = Math.floor(Math.random() * 2 ** 31);
    const failureMessage = `seed ${seed}`;
    const tokenCounts = fc.sample(fc.integer({ min: 1, max: 25 }), { numRuns: VISITORS, seed });
    const disconnectedAt = new Map<string, number>();

    async function visitAndDisconnect(index: number): Promise<void> {
      const name = `visitor ${index}`;
      const init = { headers: { "x-forwarded-for": newClientAddress() } };
      const response = await postChat(system.url(index % 3), tenant, { message: name }, init);
      const tokens = tokenCounts[index];
      let received = 0;
      for await (const item of readSse(response))
        if ("event" in item && item.event === "token" && ++received === tokens) break;
      // Breaking out of the loop closed the connection.
      disconnectedAt.set(name, Date.now());
    }
    await mapConcurrently(VISITORS, 25, visitAndDisconnect);

    const providerRequests = () =>
      system.provider.requests.filter((request) => disconnectedAt.has(lastMessage(request.body)));
    await expect
      .poll(() => providerRequests().filter(({ closedByClientAt }) => closedByClientAt).length, {
        message: failureMessage,
        timeout: 5_000,
      })
      .toBe(VISITORS);
    const delays = providerRequests().map(
      (request) => (request.closedByClientAt ?? 0) - (disconnectedAt.get(lastMessage(request.body)) ?? 0),
    );
    expect(Math.max(...delays), failureMessage).toBeLessThanOrEqual(1_000);

    await expect
      .poll(() => readBalance(system.database, tenant.workspaceId), { message: failureMessage, timeout: 10_000 })
      .toMatchObject({ held: 0, outbox: 0, unbalanced: 0 });
    const { statuses } = await queryFirstRow<{ statuses: string[] }>(
      system.database,
      "SELECT array_agg(DISTINCT status) AS statuses FROM conversation.turns WHERE workspace_id = $1",
      [tenant.workspaceId],
    );
    expect(statuses, failureMessage).toEqual(["cancelled"]);
  });

  test("visitors who disconnect before their stream opens leave no hold, no open turn and no open provider request", async () => {
    const { system } = fixture;
    const tenant = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-1000-every-20" });
    const seed = Math.floor(Math.random() * 2 ** 31);
    const failureMessage = `seed ${seed}`;
    const delaysMs = fc.sample(fc.integer({ min: 0, max: 30 }), { numRuns: EARLY_VISITORS, seed });
    await mapConcurrently(EARLY_VISITORS, 20, async (index) => {
      const disconnect = new AbortController();
      const init = { headers: { "x-forwarded-for": newClientAddress() }, signal: disconnect.signal };
      const pending = postChat(system.url(index % 3), tenant, { message: `early ${index}` }, init).catch(
        () => undefined,
      );
      await sleep(delaysMs[index]);
      disconnect.abort();
      await pending;
    });
    const providerRequests = () =>
      system.provider.requests.filter(({ body }) => lastMessage(body).startsWith("early "));
    const openRequests = () => providerRequests().filter((request) => !request.closedByClientAt && !request.endedAt);
    await expect
      .poll(() => readBalance(system.database, tenant.workspaceId), { message: failureMessage, timeout: 20_000 })
      .toMatchObject({ held: 0, outbox: 0, unbalanced: 0, streaming: 0 });
    // Checked last: while a turn is open (status `streaming`), the edge may still call the llm-proxy, which starts a provider request.
    await expect.poll(() => openRequests().length, { message: failureMessage, timeout: 5_000 }).toBe(0);
  });
}
