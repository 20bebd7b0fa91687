import { setTimeout as sleep } from "node:timers/promises";
import { figure, readSse } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { postChat } from "../../system/chat.ts";
import { query, readBalance } from "../../system/database.ts";
import { pool } from "../../system/pool.ts";
import { createTenant } from "../../system/system.ts";
import { newAddress } from "../../system/visitors.ts";
import type { EdgeStage } from "../edge-stage.ts";
import { lastMessage } from "../scripted-faults.ts";

const VISITORS = figure(100, 1_000);

export function leavingSuite(shared: () => EdgeStage): void {
  let stage: EdgeStage;
  beforeAll(() => {
    stage = shared();
  });

  test(`${VISITORS} visitors leave at a random token: the provider is told within a second, and nothing is held`, async () => {
    const { system } = stage;
    const tenant = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-1000-every-20" });
    const leftAt = new Map<string, number>();

    async function visitAndLeave(index: number): Promise<void> {
      const name = `visitor ${index}`;
      const leaving = new AbortController();
      const init = { headers: { "x-forwarded-for": newAddress() }, signal: leaving.signal };
      const response = await postChat(system.url(index % 3), tenant, { message: name }, init);
      const tokens = 1 + Math.floor(Math.random() * 25);
      let seen = 0;
      for await (const item of readSse(response))
        if ("event" in item && item.event === "token" && ++seen === tokens) break;
      // Leaving the loop has closed the connection.
      leftAt.set(name, Date.now());
    }
    await pool(VISITORS, 25, visitAndLeave);

    const calls = () => system.provider.requests.filter((request) => leftAt.has(lastMessage(request.body)));
    await expect
      .poll(() => calls().filter(({ closedByClientAt }) => closedByClientAt).length, { timeout: 5_000 })
      .toBe(VISITORS);
    const delays = calls().map((call) => (call.closedByClientAt ?? 0) - (leftAt.get(lastMessage(call.body)) ?? 0));
    expect(Math.max(...delays)).toBeLessThanOrEqual(1_000);

    await expect
      .poll(() => readBalance(system.database, tenant.workspaceId), { timeout: 10_000 })
      .toMatchObject({ held: 0, outbox: 0, unbalanced: 0 });
    const { statuses } = await query<{ statuses: string[] }>(
      system.database,
      "SELECT array_agg(DISTINCT status) AS statuses FROM conversation.turns WHERE workspace_id = $1",
      [tenant.workspaceId],
    );
    expect(statuses).toEqual(["cancelled"]);
  });

  test("visitors who leave before their stream is open leave nothing behind", async () => {
    const { system } = stage;
    const tenant = await createTenant(system.admin, { plan: "scale", model: "openai:tokens-1000-every-20" });
    await pool(figure(60, 1_000), 20, async (index) => {
      const leaving = new AbortController();
      const init = { headers: { "x-forwarded-for": newAddress() }, signal: leaving.signal };
      const answer = postChat(system.url(index % 3), tenant, { message: `early ${index}` }, init).catch(
        () => undefined,
      );
      await sleep(Math.random() * 30);
      leaving.abort();
      await answer;
    });
    const calls = () => system.provider.requests.filter(({ body }) => lastMessage(body).startsWith("early "));
    const open = () => calls().filter((call) => !call.closedByClientAt && !call.endedAt);
    await expect.poll(() => open().length, { timeout: 5_000 }).toBe(0);
    await expect
      .poll(() => readBalance(system.database, tenant.workspaceId), { timeout: 20_000 })
      .toMatchObject({ held: 0, outbox: 0, unbalanced: 0, streaming: 0 });
  });
}
