import { expect, test } from "vitest";
import { describeError } from "./advice.ts";

test("describes an overload, which the edge does not log", () => {
  expect(describeError("overloaded")).toMatch(/^overloaded: Too many replies/);
});

test("refers to the logs for a code without advice", () => {
  expect(describeError("internal_error")).toBe("internal_error: See the edge’s logs.");
});
