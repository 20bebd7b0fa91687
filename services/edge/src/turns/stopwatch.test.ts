import { testClock } from "@parley/test-support";
import { expect, test } from "vitest";
import { Stopwatch } from "./stopwatch.ts";

function start() {
  const clock = testClock();
  return { clock, watch: new Stopwatch(clock.now, "limits") };
}

const phasesInMs = (watch: Stopwatch) => watch.phases.map(({ name, microseconds }) => [name, microseconds / 1_000]);

test("adds all time to the current phase and lists phases in the order of their first entry", () => {
  const { clock, watch } = start();
  clock.advance(2);
  watch.enter("open");
  clock.advance(3);
  watch.enter("tokens");
  clock.advance(5);
  watch.enter("reader");
  clock.advance(7);
  watch.enter("tokens");
  clock.advance(10);
  watch.enter("tokens");
  clock.advance(1);
  expect(phasesInMs(watch)).toEqual([
    ["limits", 2],
    ["open", 3],
    ["tokens", 16],
    ["reader", 7],
  ]);
  expect(watch.elapsedMs()).toBe(28);
});

test("split moves measured parts out of the current phase and renames the rest", () => {
  const { clock, watch } = start();
  watch.enter("first_token");
  clock.advance(100);
  watch.split(
    [
      ["queue", 20],
      ["provider", 70],
    ],
    "own",
  );
  clock.advance(1);
  watch.enter("tokens");
  expect(phasesInMs(watch)).toEqual([
    ["own", 11],
    ["queue", 20],
    ["provider", 70],
  ]);
});

test("a second split divides only the rest of the current phase", () => {
  const { clock, watch } = start();
  watch.enter("first_token");
  clock.advance(100);
  watch.split([["tools", 30]]);
  clock.advance(50);
  watch.split([["provider", 110]], "own");
  clock.advance(1);
  watch.enter("tokens");
  expect(phasesInMs(watch)).toEqual([
    ["tools", 30],
    ["own", 11],
    ["provider", 110],
  ]);
});

test.each([
  ["more time than has passed", 500, [["provider", 100]]],
  ["a negative time", -500, [["own", 100]]],
])("the phases add up to the wall time when another service's clock reports %s", (_, reportedMs, expected) => {
  const { clock, watch } = start();
  watch.enter("first_token");
  clock.advance(100);
  watch.split([["provider", reportedMs]], "own");
  expect(phasesInMs(watch)).toEqual(expected);
  expect(watch.elapsedMs()).toBe(100);
});
