import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { findFailureReason } from "./migrate-service.ts";

test("findFailureReason returns the message of an uncaught error, not the Node version that is printed after the stack", () => {
  const code =
    'console.error("a warning"); throw Object.assign(new TypeError("first line\\nsecond line"), { code: "E" })';
  const { stderr } = spawnSync(process.execPath, ["-e", code], { encoding: "utf8" });
  expect(findFailureReason(stderr)).toBe("TypeError: first line; second line");
});

test("findFailureReason returns every problem that the migration printed", () => {
  const stderr = "(node:1) Warning: w\nquota: cannot migrate: A is not set\nquota: cannot migrate: B is invalid\n";
  expect(findFailureReason(stderr)).toBe("quota: cannot migrate: A is not set; quota: cannot migrate: B is invalid");
});

test("findFailureReason returns the last line if it finds neither an error nor a problem, and undefined if all lines are blank", () => {
  expect(findFailureReason("one\ntwo\n\n")).toBe("two");
  expect(findFailureReason("\n")).toBeUndefined();
});
