import { expect, test } from "vitest";
import { assignmentProblems, listTypeChecked } from "./test-projects.ts";

test("assignmentProblems reports files that no project runs, that two projects run, or that no tsconfig.json includes", () => {
  const tests = ["a.test.ts", "b.test.ts", "c.test.ts", "d.test.ts"];
  const runs = ["a.test.ts", "c.test.ts", "c.test.ts", "d.test.ts"];
  expect(assignmentProblems(tests, runs, ["a.test.ts", "b.test.ts", "c.test.ts"])).toEqual([
    "b.test.ts: 0 vitest projects run it",
    "c.test.ts: 2 vitest projects run it",
    "d.test.ts: no tsconfig.json includes it",
  ]);
});

test("listTypeChecked throws tsc's error if tsc fails", async () => {
  await expect(listTypeChecked("missing/tsconfig.json")).rejects.toThrow(/missing\/tsconfig\.json.*TS5058/s);
});
