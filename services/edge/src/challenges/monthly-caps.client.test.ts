import { setTimeout as sleep } from "node:timers/promises";
import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import { expect, test, vi } from "vitest";
import { createMonthlyCapReader } from "./monthly-caps.client.ts";

test("reads a workspace's cap once a minute, and reads 0 while the quota service does not answer", async () => {
  // The cache takes 0 for no time.
  let now = 1;
  /** Also waits until the cache reads the clock again. */
  const advance = async (ms: number) => {
    now += ms;
    await sleep(20);
  };
  let failure: Error | undefined = new RpcError(status.UNAVAILABLE, "unavailable", "down");
  const getWorkspace = vi.fn(async () => {
    if (failure !== undefined) throw failure;
    return { workspace: { cap: 500 } };
  });
  const quota = { getWorkspace } as unknown as RpcClient<typeof QuotaService>;
  const read = createMonthlyCapReader(quota, () => now);
  expect(await Promise.all([read("ws"), read("ws")])).toEqual([0, 0]);
  failure = undefined;
  expect(await read("ws")).toBe(0);
  await advance(5_001);
  expect(await read("ws")).toBe(500);
  await advance(59_000);
  expect(await read("ws")).toBe(500);
  expect(getWorkspace.mock.calls).toEqual(Array(2).fill([{ workspaceId: "ws" }, { timeoutMs: 2_000 }]));
  await advance(2_000);
  await read("ws");
  expect(getWorkspace).toHaveBeenCalledTimes(3);
});
