import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { findReason } from "./migrate-service.ts";

test("the reason of an uncaught error is its message, not the version of Node that follows its stack", () => {
  const code =
    'console.error("a warning"); throw Object.assign(new TypeError("first line\\nsecond line"), { code: "E" })';
  const { stderr } = spawnSync(process.execPath, ["-e", code], { encoding: "utf8" });
  expect(findReason(stderr)).toBe("TypeError: first line; second line");
});

test("the reason contains every problem that the migration printed", () => {
  const stderr = "(node:1) Warning: w\nquota: cannot migrate: A is not set\nquota: cannot migrate: B is invalid\n";
  expect(findReason(stderr)).toBe("quota: cannot migrate: A is not set; quota: cannot migrate: B is invalid");
});

test("the reason in other output is its last line, and empty output has no reason", () => {
  expect(findReason("one\ntwo\n\n")).toBe("two");
  expect(findReason("\n")).toBeUndefined();
});
