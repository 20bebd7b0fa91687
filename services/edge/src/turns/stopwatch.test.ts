import { testClock } from "@parley/test-support";
import { expect, test } from "vitest";
import { Stopwatch } from "./stopwatch.ts";

function start() {
  const clock = testClock();
  return { clock, watch: new Stopwatch(clock.now, "limits") };
}

const ms = (watch: Stopwatch) => watch.phases.map(({ name, microseconds }) => [name, microseconds / 1_000]);

test("every moment belongs to one phase, in the order in which they were entered", () => {
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
  expect(ms(watch)).toEqual([
    ["limits", 2],
    ["open", 3],
    ["tokens", 16],
    ["reader", 7],
  ]);
  expect(watch.elapsedMs()).toBe(28);
});

test("a phase is split by what another clock has measured, and keeps the rest", () => {
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
  expect(ms(watch)).toEqual([
    ["own", 11],
    ["queue", 20],
    ["provider", 70],
  ]);
});

test("what is given away piece by piece is not given away again", () => {
  const { clock, watch } = start();
  watch.enter("first_token");
  clock.advance(100);
  watch.split([["tools", 30]]);
  clock.advance(50);
  watch.split([["provider", 110]], "own");
  clock.advance(1);
  watch.enter("tokens");
  expect(ms(watch)).toEqual([
    ["tools", 30],
    ["own", 11],
    ["provider", 110],
  ]);
});

test.each([
  ["too much", 500, [["provider", 100]]],
  ["less than nothing", -500, [["own", 100]]],
])("whatever another clock says, the phases stay the wall time: %s", (_, told, expected) => {
  const { clock, watch } = start();
  watch.enter("first_token");
  clock.advance(100);
  watch.split([["provider", told]], "own");
  expect(ms(watch)).toEqual(expected);
  expect(watch.elapsedMs()).toBe(100);
});
