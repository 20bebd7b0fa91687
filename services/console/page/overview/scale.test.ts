import { expect, test } from "vitest";
import { axisTicks } from "./scale.ts";

test.each([
  [0, [1, 0]],
  [1, [1, 0]],
  [3, [3, 2, 1, 0]],
  [7, [8, 6, 4, 2, 0]],
  [40, [40, 30, 20, 10, 0]],
  [41, [60, 40, 20, 0]],
  [1_234, [1_500, 1_000, 500, 0]],
])("the axis for at most %i messages a day has whole, round numbers at equal distances", (largest, ticks) => {
  expect(axisTicks(largest)).toEqual(ticks);
});
