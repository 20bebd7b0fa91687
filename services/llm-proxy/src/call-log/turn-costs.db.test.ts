import { randomUUID } from "node:crypto";
import { type FakeProvider, fixedUsage, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestProxy, type TestProxy } from "../testing/llm-proxy.ts";

const PRICE = { input: 1_000, output: 2_000, cached_input: 100 };

let provider: FakeProvider;
let proxy: TestProxy;
beforeAll(async () => {
  provider = await startFakeProvider();
  proxy = await startTestProxy({
    config: `
      providers:
        fake: { base_url: "${provider.url}", prices: { priced: ${JSON.stringify(PRICE)} } }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await provider.close();
});

test("a turn costs what the price list says, with the price of cached tokens, and so does the month", async () => {
  const turnIds = [randomUUID(), randomUUID()];
  provider.script([{ cachedTokens: 10 }, {}]);
  for (const turnId of turnIds) {
    await proxy.generate({ workspaceId: "ws_cost", turnId, model: "fake:priced" });
    await proxy.rowsOf("ws_cost", turnId);
  }
  const { prompt_tokens: tokensIn, completion_tokens: tokensOut } = fixedUsage;
  const full = tokensIn * PRICE.input + tokensOut * PRICE.output;
  const cached = full - 10 * (PRICE.input - PRICE.cached_input);
  const costs = new Map((await proxy.listTurnCosts("ws_cost", turnIds)).map((each) => [each.turnId, each]));
  expect(turnIds.map((id) => [costs.get(id)?.cost, costs.get(id)?.tokensCached])).toEqual([
    [(cached / 1e6).toFixed(10), 10],
    [(full / 1e6).toFixed(10), 0],
  ]);
  const { sums } = await proxy.admin.calls.sumCalls({ workspaceId: "ws_cost" });
  expect(sums).toMatchObject([{ cost: ((cached + full) / 1e6).toFixed(10), tokensCached: 10n, unpricedCalls: 0n }]);
});

test("a turn has no cost if its model has no price, and none for another workspace", async () => {
  const turnId = randomUUID();
  await proxy.generate({ workspaceId: "ws_unpriced", turnId, model: "fake:other" });
  await proxy.rowsOf("ws_unpriced", turnId);
  expect(await proxy.listTurnCosts("ws_unpriced", [turnId])).toMatchObject([{ turnId, cost: "" }]);
  expect(await proxy.listTurnCosts("ws_test", [turnId])).toEqual([]);
  expect(await proxy.listTurnCosts("ws_test", [])).toEqual([]);
});
