import { RpcError, status } from "@parley/rpc";
import { describe, expect, test } from "vitest";
import { echo, numbers, useTestPeers } from "../testing/peers.ts";

const peers = useTestPeers();

describe.each([
  ["multiplexed", true],
  ["plain gRPC", false],
])("%s calls", (_, isMultiplexed) => {
  test("retries to an unavailable peer stay within the retry budget", async () => {
    let isUnavailable = true;
    const { reserve } = await peers().startClient(isMultiplexed, (request, context) => {
      if (request.workspaceId === "1" && isUnavailable)
        throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
      return echo(request, context);
    });
    const calls = 400;
    for (let n = 0; n < calls; n += 20) await Promise.all(numbers(20).map(() => reserve("1").catch(() => undefined)));
    // A retry budget allows a burst of 50 retries, then a retry for every tenth call. Multiplexed calls and gRPC's own retries have a budget each,
    // so there may be two bursts.
    expect(peers().receivedCalls.length).toBeLessThan(calls * 1.1 + 100);
    isUnavailable = false;
    await expect(reserve("1")).resolves.toMatchObject({ used: 1 });
  });
});
