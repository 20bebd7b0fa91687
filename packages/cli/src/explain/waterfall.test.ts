import { expect, test } from "vitest";
import { drawWaterfall } from "./waterfall.ts";

test("drawWaterfall draws bars to scale at their start time, with a mark for very short phases", () => {
  const phases = [
    { name: "limits", ms: 0.5 },
    { name: "open", ms: 499.5 },
    { name: "provider", ms: 1_500 },
  ];
  expect(drawWaterfall(phases, 46)).toBe(
    [
      "limits      ▏                           0.5 ms",
      "open        █████                     499.5 ms",
      "provider         ███████████████    1,500.0 ms",
      "",
    ].join("\n"),
  );
});

test("drawWaterfall marks a phase of 0 ms, and keeps 20 columns for bars even if the terminal is too narrow", () => {
  expect(drawWaterfall([{ name: "unrecorded", ms: 0 }], 1)).toBe(`unrecorded  ▏${" ".repeat(19)}        0.0 ms\n`);
});
