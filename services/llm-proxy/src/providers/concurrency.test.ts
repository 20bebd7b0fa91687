import { describe, expect, test, vi } from "vitest";
import { Concurrency } from "./concurrency.ts";

const never = new AbortController().signal;
const settled = () => new Promise((resolve) => setImmediate(resolve));

function setUp(policy: Partial<ConstructorParameters<typeof Concurrency>[0]> = {}) {
  const concurrency = new Concurrency({ maxActive: 1, maxQueued: 3, maxWaitMs: 10_000, ...policy });
  const order: string[] = [];
  const releases: (() => void)[] = [];
  const ask = (workspace: string, name = workspace, signal = never) =>
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
    await settled();
  };
  return { ask, order, releaseNext };
}

describe("Concurrency", () => {
  test("lets at most so many run at once and hands a place on when it is given back", async () => {
    const { ask, order, releaseNext } = setUp({ maxActive: 2 });
    for (const name of ["a", "b", "c"]) void ask(name);
    await settled();
    expect(order).toEqual(["a", "b"]);
    await releaseNext();
    expect(order).toEqual(["a", "b", "c"]);
    await releaseNext();
    await releaseNext();
    void ask("d");
    await settled();
    expect(order).toEqual(["a", "b", "c", "d"]);
  });

  test("serves workspaces in turn, however many calls one of them has waiting", async () => {
    const { ask, order, releaseNext } = setUp({ maxQueued: 10 });
    for (const name of ["a0", "a1", "a2", "a3", "b1", "c1"]) void ask(name.charAt(0), name);
    for (let place = 0; place < 6; place++) {
      await settled();
      await releaseNext();
    }
    expect(order).toEqual(["a0", "a1", "b1", "c1", "a2", "a3"]);
  });

  test("refuses at once what finds a full queue", async () => {
    const { ask, order } = setUp({ maxQueued: 2 });
    for (const name of ["a", "b", "c", "d"]) void ask(name);
    await settled();
    expect(order).toEqual(["a", "d queue_full"]);
  });

  test("in a full queue the workspace with most waiting makes room for one with fewer", async () => {
    const { ask, order, releaseNext } = setUp({ maxQueued: 3 });
    for (const name of ["a0", "a1", "a2", "a3", "b1"]) void ask(name.charAt(0), name);
    await settled();
    expect(order).toEqual(["a0", "a3 queue_full"]);
    await releaseNext();
    await releaseNext();
    expect(order.slice(2)).toEqual(["a1", "b1"]);
  });

  test("gives up after its time, and at once when the caller leaves, and keeps no place for either", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const { ask, order, releaseNext } = setUp({ maxWaitMs: 100 });
      const caller = new AbortController();
      void ask("a");
      void ask("b");
      void ask("c", "c", caller.signal);
      await settled();
      caller.abort(new Error("left"));
      await settled();
      expect(order).toEqual(["a", "c cancelled"]);
      vi.advanceTimersByTime(100);
      await settled();
      expect(order).toEqual(["a", "c cancelled", "b queue_timeout"]);
      await releaseNext();
      void ask("d");
      await settled();
      expect(order.at(-1)).toBe("d");
    } finally {
      vi.useRealTimers();
    }
  });
});
