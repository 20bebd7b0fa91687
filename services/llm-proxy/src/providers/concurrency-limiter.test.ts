import { describe, expect, test, vi } from "vitest";
import { ConcurrencyLimiter } from "./concurrency-limiter.ts";

const neverAborted = new AbortController().signal;
const runPendingCallbacks = () => new Promise((resolve) => setImmediate(resolve));

function setUp(policy: Partial<ConstructorParameters<typeof ConcurrencyLimiter>[0]> = {}) {
  const concurrency = new ConcurrencyLimiter({ maxActive: 1, maxQueued: 3, maxWaitMs: 10_000, ...policy });
  const order: string[] = [];
  const releases: (() => void)[] = [];
  const acquire = (workspace: string, name = workspace, signal = neverAborted) =>
    concurrency.acquire(workspace, signal).then(
      (release) => {
        order.push(name);
        releases.push(release);
      },
      (error: { reason?: string }) => {
        order.push(`${name} ${error.reason ?? "cancelled"}`);
      },
    );
  const releaseNext = async () => {
    releases.shift()?.();
    await runPendingCallbacks();
  };
  return { acquire, order, releaseNext };
}

describe("ConcurrencyLimiter", () => {
  test("grants at most maxActive slots, and passes a released slot to the next waiter", async () => {
    const { acquire, order, releaseNext } = setUp({ maxActive: 2 });
    for (const name of ["a", "b", "c"]) void acquire(name);
    await runPendingCallbacks();
    expect(order).toEqual(["a", "b"]);
    await releaseNext();
    expect(order).toEqual(["a", "b", "c"]);
    await releaseNext();
    await releaseNext();
    void acquire("d");
    await runPendingCallbacks();
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  test("serves workspaces round-robin, regardless of the length of their queues", async () => {
    const { acquire, order, releaseNext } = setUp({ maxQueued: 10 });
    for (const name of ["a0", "a1", "a2", "a3", "b1", "c1"]) void acquire(name.charAt(0), name);
    for (let slot = 0; slot < 6; slot++) {
      await runPendingCallbacks();
      await releaseNext();
    }
    expect(order).toEqual(["a0", "b1", "c1", "a1", "a2", "a3"]);
  });

  test("leaves an eighth of the slots to other workspaces, whatever one workspace asks for", async () => {
    const { acquire, order, releaseNext } = setUp({ maxActive: 32, maxQueued: 100 });
    for (let request = 0; request < 60; request++) void acquire("greedy");
    await runPendingCallbacks();
    expect(order).toHaveLength(28);
    void acquire("other");
    await runPendingCallbacks();
    expect(order.at(-1)).toBe("other");
    // The slots that become free go to the waiting requests, up to the same share.
    await releaseNext();
    await releaseNext();
    expect(order.filter((name) => name === "greedy")).toHaveLength(30);
  });

  test("refuses a request immediately when maxQueued requests of different workspaces wait", async () => {
    const { acquire, order } = setUp({ maxQueued: 2 });
    for (const name of ["a", "b", "c", "d"]) {
      void acquire(name);
      await runPendingCallbacks();
    }
    expect(order).toEqual(["a", "d queue_full"]);
  });

  test("when maxQueued requests wait, refuses the newest request of the workspace with the longest queue, so that another workspace's request can wait", async () => {
    const { acquire, order, releaseNext } = setUp({ maxQueued: 3 });
    for (const name of ["a0", "a1", "a2", "a3", "b1"]) void acquire(name.charAt(0), name);
    await runPendingCallbacks();
    expect(order).toEqual(["a0", "a3 queue_full"]);
    await releaseNext();
    await releaseNext();
    expect(order.slice(2)).toEqual(["b1", "a1"]);
  });

  test("rejects a waiting request after maxWaitMs, or immediately if its caller cancels, and loses no slot", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { acquire, order, releaseNext } = setUp({ maxWaitMs: 100 });
      const caller = new AbortController();
      void acquire("a");
      void acquire("b");
      void acquire("c", "c", caller.signal);
      await runPendingCallbacks();
      caller.abort(new Error("cancelled"));
      await runPendingCallbacks();
      expect(order).toEqual(["a", "c cancelled"]);
      vi.advanceTimersByTime(100);
      await runPendingCallbacks();
      expect(order).toEqual(["a", "c cancelled", "b queue_timeout"]);
      await releaseNext();
      void acquire("d");
      await runPendingCallbacks();
      expect(order.at(-1)).toBe("d");
    } finally {
      vi.useRealTimers();
    }
  });
});
