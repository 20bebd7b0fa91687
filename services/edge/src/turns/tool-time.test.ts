import { testClock } from "@parley/test-support";
import { expect, test } from "vitest";
import { Stopwatch } from "./stopwatch.ts";
import { ToolTime } from "./tool-time.ts";

test("tools that ran beside each other count once, as long as the longest; those of a later round count again", () => {
  const clock = testClock();
  const watch = new Stopwatch(clock.now, "first_token");
  const tools = new ToolTime(watch);
  clock.advance(200);
  for (const latencyMs of [30, 100, 50]) tools.add(latencyMs);
  clock.advance(90);
  tools.add(40);
  expect(watch.phases).toEqual([
    { name: "first_token", microseconds: 150_000 },
    { name: "tools", microseconds: 140_000 },
  ]);
});
