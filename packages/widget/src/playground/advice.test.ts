import { expect, test } from "vitest";
import { describeError as describeIn } from "./advice.ts";
import { PLAYGROUND_ENGLISH } from "./english.ts";

const describeError = (code: string) => describeIn(code, PLAYGROUND_ENGLISH);

test("describeError gives advice for `overloaded`, an error code that the edge does not log", () => {
  expect(describeError("overloaded")).toMatch(/^overloaded: Too many replies/);
});

test("describeError refers to the edge's logs for a failure that the edge logs, and to docs/api.md for a code without advice", () => {
  expect(describeError("internal_error")).toMatch(/edge’s logs/);
  expect(describeError("invalid_request")).toBe("invalid_request: docs/api.md lists the error codes.");
});
