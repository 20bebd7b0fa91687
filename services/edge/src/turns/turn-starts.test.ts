import { expect, onTestFinished, test, vi } from "vitest";
import { TurnStarts } from "./turn-starts.ts";

const STARTING_OF_WORKSPACE = 64;
const STARTING = 256;
const WAITING_OF_WORKSPACE = 1_000;
const OVERLOADED = { code: "overloaded" };

/** Begins turns of a workspace. Returns how many have begun, and a function that reports the oldest as started. */
function begin(starts: TurnStarts, workspaceId: string, count: number) {
  const begun: (() => void)[] = [];
  const turns = Array.from({ length: count }, () => starts.begin(workspaceId).then((started) => begun.push(started)));
  // Turns that still wait 10 s after a test are refused then.
  for (const turn of turns) turn.catch(() => undefined);
  return { turns, begun, startOldest: () => begun.shift()?.() };
}

async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

test("starts at most 64 turns of a workspace at once, and the others in order", async () => {
  const starts = new TurnStarts(() => undefined);
  const a = begin(starts, "a", STARTING_OF_WORKSPACE);
  const order: number[] = [];
  const later = [1, 2].map((n) => starts.begin("a").then(() => order.push(n)));
  const b = begin(starts, "b", 1);
  await settle();
  expect([a.begun.length, b.begun.length, order]).toEqual([STARTING_OF_WORKSPACE, 1, []]);
  a.startOldest();
  await later[0];
  expect(order).toEqual([1]);
  a.startOldest();
  await later[1];
  expect(order).toEqual([1, 2]);
});

test("counts a turn once, however often it reports that it has started", async () => {
  const starts = new TurnStarts(() => undefined);
  const { begun, turns } = begin(starts, "a", STARTING_OF_WORKSPACE + 2);
  await turns[0];
  const [first] = begun;
  first?.();
  first?.();
  await settle();
  expect(begun).toHaveLength(STARTING_OF_WORKSPACE + 1);
});

test("starts at most 256 turns at once, and lets workspaces take turns", async () => {
  const starts = new TurnStarts(() => undefined);
  const busy = ["a", "b", "c", "d"].map((workspaceId) => begin(starts, workspaceId, STARTING / 4));
  const waiting = ["e", "f"].map((workspaceId) => begin(starts, workspaceId, 10));
  const begunOfWaiting = () => waiting.map(({ begun }) => begun.length);
  await settle();
  expect(begunOfWaiting()).toEqual([0, 0]);
  for (let n = 0; n < 4; n++) busy[0]?.startOldest();
  await settle();
  expect(begunOfWaiting()).toEqual([2, 2]);
});

test("refuses a turn at once while 1,000 of its workspace wait", async () => {
  const refused = vi.fn();
  const starts = new TurnStarts(refused);
  const { startOldest } = begin(starts, "a", STARTING_OF_WORKSPACE + WAITING_OF_WORKSPACE);
  await settle();
  await expect(starts.begin("a")).rejects.toMatchObject(OVERLOADED);
  expect(refused.mock.calls).toEqual([["workspace"]]);
  await starts.begin("b");
  startOldest();
  await Promise.race([starts.begin("a"), settle()]);
  expect(refused).toHaveBeenCalledOnce();
});

test("refuses a turn that has waited for 10 s", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const refused = vi.fn();
  const starts = new TurnStarts(refused);
  const { startOldest } = begin(starts, "a", STARTING_OF_WORKSPACE);
  const waiting = expect(starts.begin("a")).rejects.toMatchObject(OVERLOADED);
  await vi.advanceTimersByTimeAsync(9_999);
  expect(refused).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  expect(refused.mock.calls).toEqual([["workspace"]]);
  startOldest();
  await starts.begin("a");
});

test("reports an overload if a turn has waited for 10 s because of other workspaces", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const refused = vi.fn();
  const starts = new TurnStarts(refused);
  for (const workspaceId of ["a", "b", "c", "d"]) begin(starts, workspaceId, STARTING / 4);
  const waiting = expect(starts.begin("e")).rejects.toMatchObject(OVERLOADED);
  await vi.advanceTimersByTimeAsync(10_000);
  await waiting;
  expect(refused.mock.calls).toEqual([["overload"]]);
});
