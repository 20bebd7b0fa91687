import { expect, onTestFinished, test, vi } from "vitest";
import { TurnStartLimiter } from "./turn-start-limiter.ts";

const MAX_STARTING_OF_WORKSPACE = 64;
const MAX_STARTING = 256;
const MAX_WAITING_OF_WORKSPACE = 1_000;
const OVERLOADED = { code: "overloaded" };
/** The signal of a visitor who does not leave. */
const STAYS = new AbortController().signal;

/**
 * Begins turns of a workspace. For each turn that the limiter has admitted, `releases` has a function that frees the turn's place.
 * `releaseOldest` calls the oldest function and removes it.
 */
function begin(limiter: TurnStartLimiter, workspaceId: string, count: number, signal = STAYS) {
  const releases: (() => void)[] = [];
  const turns = Array.from({ length: count }, () =>
    limiter.begin(workspaceId, signal).then((release) => releases.push(release)),
  );
  // Prevents unhandled rejections: turns that still wait after a test are refused later.
  for (const turn of turns) turn.catch(() => undefined);
  return { turns, releases, releaseOldest: () => releases.shift()?.() };
}

async function flushPromises(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("starts at most 64 turns of a workspace concurrently, and starts waiting turns in order", async () => {
  const limiter = new TurnStartLimiter(() => undefined);
  const a = begin(limiter, "a", MAX_STARTING_OF_WORKSPACE);
  const order: number[] = [];
  const later = [1, 2].map((n) => limiter.begin("a", STAYS).then(() => order.push(n)));
  const b = begin(limiter, "b", 1);
  await flushPromises();
  expect([a.releases.length, b.releases.length, order]).toEqual([MAX_STARTING_OF_WORKSPACE, 1, []]);
  a.releaseOldest();
  await later[0];
  expect(order).toEqual([1]);
  a.releaseOldest();
  await later[1];
  expect(order).toEqual([1, 2]);
});

test("frees only one place if a turn's release function is called twice", async () => {
  const limiter = new TurnStartLimiter(() => undefined);
  const { releases, turns } = begin(limiter, "a", MAX_STARTING_OF_WORKSPACE + 2);
  await turns[0];
  const [first] = releases;
  first?.();
  first?.();
  await flushPromises();
  expect(releases).toHaveLength(MAX_STARTING_OF_WORKSPACE + 1);
});

test("starts at most 256 turns concurrently, and shares freed places between waiting workspaces", async () => {
  const limiter = new TurnStartLimiter(() => undefined);
  const busy = Array.from({ length: MAX_STARTING }, (_, n) => begin(limiter, `busy-${n}`, 1));
  const waiting = ["e", "f"].map((workspaceId) => begin(limiter, workspaceId, 10));
  const countAdmitted = () => waiting.map(({ releases }) => releases.length);
  await flushPromises();
  expect(countAdmitted()).toEqual([0, 0]);
  for (let n = 0; n < 6; n++) busy[n]?.releaseOldest();
  await flushPromises();
  // Two of the six places stay free: a workspace that is starting two turns may start another only if more than two places are free.
  expect(countAdmitted()).toEqual([2, 2]);
});

test("leaves places for other workspaces while seven workspaces are stuck", async () => {
  const limiter = new TurnStartLimiter(() => undefined);
  const stuck = Array.from({ length: 7 }, (_, n) => begin(limiter, `stuck-${n}`, 100));
  await flushPromises();
  expect(stuck.map(({ releases }) => releases.length)).toEqual([64, 64, 64, 32, 16, 8, 4]);
  const live = begin(limiter, "live", 2);
  await flushPromises();
  expect(live.releases).toHaveLength(2);
});

test("when a turn has started, admits all waiting turns that now have room", async () => {
  const limiter = new TurnStartLimiter(() => undefined);
  const workspaces = ["a", "b", "c", "d", "e"].map((workspaceId) => begin(limiter, workspaceId, 64));
  const [, , , d, e] = workspaces;
  await flushPromises();
  expect(workspaces.map(({ releases }) => releases.length)).toEqual([64, 64, 64, 32, 16]);
  for (let n = 0; n < 32; n++) d?.releaseOldest();
  await flushPromises();
  // 192 + 21 + 22 of the 256 places are taken. d and e wait, because each already has at least as many places as the 21 that are free.
  expect([d?.releases.length, e?.releases.length]).toEqual([21, 22]);
});

test("does not start the turns of visitors who left, and lets others wait in their place", async () => {
  const refused = vi.fn();
  let waiting = 0;
  const limiter = new TurnStartLimiter(refused, (change) => {
    waiting += change;
  });
  const starting = begin(limiter, "a", MAX_STARTING_OF_WORKSPACE);
  const visitors = new AbortController();
  const left = begin(limiter, "a", MAX_WAITING_OF_WORKSPACE, visitors.signal);
  visitors.abort();
  const results = await Promise.allSettled(left.turns);
  expect(new Set(results.map((result) => result.status))).toEqual(new Set(["rejected"]));
  await expect(limiter.begin("a", visitors.signal)).rejects.toMatchObject({ code: "client_gone", status: 499 });
  expect(waiting).toBe(0);
  const live = begin(limiter, "a", 1);
  expect(waiting).toBe(1);
  starting.releaseOldest();
  await flushPromises();
  expect([left.releases.length, live.releases.length, refused.mock.calls.length, waiting]).toEqual([0, 1, 0, 0]);
});

test("refuses a turn immediately while an earlier turn of its workspace has been waiting for 5 s", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const refused = vi.fn();
  const limiter = new TurnStartLimiter(refused);
  const { releaseOldest } = begin(limiter, "a", MAX_STARTING_OF_WORKSPACE + 1);
  await vi.advanceTimersByTimeAsync(4_999);
  const waiting = limiter.begin("a", STAYS);
  await vi.advanceTimersByTimeAsync(1);
  await expect(limiter.begin("a", STAYS)).rejects.toMatchObject(OVERLOADED);
  expect(refused).toHaveBeenCalledOnce();
  await limiter.begin("b", STAYS);
  releaseOldest();
  releaseOldest();
  await waiting;
  await Promise.race([limiter.begin("a", STAYS), vi.advanceTimersByTimeAsync(1)]);
  expect(refused).toHaveBeenCalledOnce();
});

test("refuses a turn immediately while 1,000 turns of its workspace wait", async () => {
  const refused = vi.fn();
  const limiter = new TurnStartLimiter(refused);
  const { releaseOldest } = begin(limiter, "a", MAX_STARTING_OF_WORKSPACE + MAX_WAITING_OF_WORKSPACE);
  await flushPromises();
  await expect(limiter.begin("a", STAYS)).rejects.toMatchObject(OVERLOADED);
  expect(refused.mock.calls).toEqual([["workspace"]]);
  await limiter.begin("b", STAYS);
  releaseOldest();
  await Promise.race([limiter.begin("a", STAYS), flushPromises()]);
  expect(refused).toHaveBeenCalledOnce();
});

test("refuses a turn that has waited for 10 s", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const refused = vi.fn();
  const limiter = new TurnStartLimiter(refused);
  const { releaseOldest } = begin(limiter, "a", MAX_STARTING_OF_WORKSPACE);
  const waiting = expect(limiter.begin("a", STAYS)).rejects.toMatchObject(OVERLOADED);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(refused).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  expect(refused.mock.calls).toEqual([["workspace"]]);
  releaseOldest();
  await limiter.begin("a", STAYS);
});

test("reports an overload if a turn has waited for 10 s because of other workspaces", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const refused = vi.fn();
  const limiter = new TurnStartLimiter(refused);
  // The busy workspaces start 64, 64, 64, 32, 16, 8, 4, 2, 1 and 1 turns.
  for (let n = 0; n < 10; n++) begin(limiter, `busy-${n}`, MAX_STARTING_OF_WORKSPACE);
  const waiting = expect(limiter.begin("a", STAYS)).rejects.toMatchObject(OVERLOADED);
  await vi.advanceTimersByTimeAsync(10_000);
  await waiting;
  expect(refused).toHaveBeenLastCalledWith("overload");
});

test("the workspaces of a shard that are stuck together take at most half of the places", async () => {
  const limiter = new TurnStartLimiter(() => undefined);
  const names = Array.from({ length: 20 }, (_, n) => `frozen-${n}`);
  for (const name of names) limiter.setShard(name, 0);
  limiter.setShard("other", 1);
  const frozen = names.map((name) => begin(limiter, name, 20));
  const other = begin(limiter, "other", 20);
  await flushPromises();
  expect(frozen.reduce((sum, { releases }) => sum + releases.length, 0)).toBe(MAX_STARTING / 2);
  expect(other.releases).toHaveLength(20);
});
