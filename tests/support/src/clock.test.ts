import { expect, it } from "vitest";
import { testClock } from "./clock.ts";

it("a test clock moves only when the test advances or sets it", () => {
  const clock = testClock(1_000);
  clock.advance(50);
  expect(clock.now()).toBe(1_050);
  clock.set(new Date(2_000));
  expect(clock.now()).toBe(2_000);
});
