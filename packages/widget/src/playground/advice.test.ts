import { expect, test } from "vitest";
import { describeError } from "./advice.ts";

test("describes an overload, which the edge does not log", () => {
  expect(describeError("overloaded")).toMatch(/^overloaded: Too many replies/);
});

test("refers to the edge's logs only for a failure that the edge logs", () => {
  expect(describeError("internal_error")).toMatch(/edge’s logs/);
  expect(describeError("invalid_request")).toBe("invalid_request: docs/api.md lists the error codes.");
});
