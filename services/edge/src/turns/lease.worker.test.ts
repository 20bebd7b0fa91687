import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import { createLogger, Lifecycle } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { keepLease } from "./lease.worker.ts";
import { RunningTurns } from "./running-turns.ts";

const LEASE_SECONDS = 30;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a lease that cannot be renewed is tried again after at most 2.5 s, and lapses", async () => {
  const log = createLogger("test", "silent");
  let isReachable = true;
  let calls = 0;
  const renewEdge = async () => {
    calls++;
    if (!isReachable) throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
    return { leaseSeconds: LEASE_SECONDS, closedTurns: [] };
  };
  const conversation = { renewEdge } as unknown as RpcClient<typeof ConversationService>;
  const lifecycle = new Lifecycle(log);
  const edge = { edgeId: "edge", address: "", token: "" };
  const lease = keepLease(conversation, edge, new RunningTurns(), log, lifecycle);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(calls).toBe(2);
  isReachable = false;
  await vi.advanceTimersByTimeAsync(20_000);
  // A third of the lease passes before the renewal that fails first: then 15 s are left.
  expect(calls).toBeGreaterThan(2 + 15 / 2.5);
  expect(lease.isValid()).toBe(true);
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000);
  expect(lease.isValid()).toBe(false);
  isReachable = true;
  await vi.advanceTimersByTimeAsync(2_500);
  expect(lease.isValid()).toBe(true);
  await lifecycle.close();
});
