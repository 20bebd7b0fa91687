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

const log = createLogger("test", "silent");

/** The test changes the returned `reachable` to set which services respond. */
function startLease(initially: { conversation: boolean } = { conversation: true }) {
  const reachable: Record<"conversation" | "others", boolean> = { ...initially, others: true };
  let calls = 0;
  const renewEdge = async () => {
    calls++;
    if (!reachable.conversation) throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
    return { leaseSeconds: LEASE_SECONDS, closedTurns: [] };
  };
  const conversation = { renewEdge } as unknown as RpcClient<typeof ConversationService>;
  const lifecycle = new Lifecycle(log);
  const lease = keepLease(
    {
      conversation,
      edge: { edgeId: "edge", address: "", token: "" },
      runningTurns: new RunningTurns(),
      reachability: { isAnyReachable: async () => reachable.others },
    },
    log,
    lifecycle,
  );
  return { lease, lifecycle, reachable, calls: () => calls };
}

test("an edge that reaches no service retries the renewal at least every 2.5 s, and is connected only until one lease duration after the last response", async () => {
  const { lease, lifecycle, reachable, calls } = startLease();
  await vi.advanceTimersByTimeAsync(15_000);
  expect(calls()).toBe(2);
  Object.assign(reachable, { conversation: false, others: false });
  await vi.advanceTimersByTimeAsync(20_000);
  // The first failing renewal is due after 5 s of these 20 s, so the edge retries for 15 s.
  expect(calls()).toBeGreaterThan(2 + 15 / 2.5);
  expect(lease.isConnected()).toBe(true);
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000);
  expect(lease.isConnected()).toBe(false);
  reachable.conversation = true;
  await vi.advanceTimersByTimeAsync(2_500);
  expect(lease.isConnected()).toBe(true);
  await lifecycle.close();
});

test("an edge that reaches another service stays connected while conversation cannot be reached", async () => {
  const { lease, lifecycle, reachable } = startLease();
  await vi.advanceTimersByTimeAsync(15_000);
  reachable.conversation = false;
  await vi.advanceTimersByTimeAsync(10 * LEASE_SECONDS * 1_000);
  expect(lease.isConnected()).toBe(true);
  reachable.others = false;
  await vi.advanceTimersByTimeAsync(LEASE_SECONDS * 1_000 + 2_500);
  expect(lease.isConnected()).toBe(false);
  await lifecycle.close();
});

test("an edge is not connected until conversation grants the first lease, even if it reaches another service", async () => {
  const { lease, lifecycle, reachable, calls } = startLease({ conversation: false });
  await vi.advanceTimersByTimeAsync(2 * LEASE_SECONDS * 1_000);
  expect(calls()).toBeGreaterThan(1);
  expect(lease.isConnected()).toBe(false);
  reachable.conversation = true;
  await vi.advanceTimersByTimeAsync(2_500);
  expect(lease.isConnected()).toBe(true);
  await lifecycle.close();
});
