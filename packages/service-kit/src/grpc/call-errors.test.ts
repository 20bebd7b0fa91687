import { status } from "@parley/rpc";
import { expect, test } from "vitest";
import { invalidArgument, ServiceError } from "../errors.ts";
import { createLogger } from "../process/logger.ts";
import { createCallErrorLog, toRpcError } from "./call-errors.ts";

const errorWith = (code: string) => Object.assign(new Error("internal details"), { code });

test.each(["08006", "53300", "57P01", "57014", "40P01", "25006", "58000", "ECONNREFUSED", "EAI_AGAIN"])(
  "the database or network error %s becomes UNAVAILABLE without its message",
  (code) => {
    const error = toRpcError(errorWith(code));
    expect(error).toMatchObject({ status: status.UNAVAILABLE, code: "unavailable" });
    expect(error.message).not.toContain("internal details");
  },
);

test.each(["23505", "22P02", "42501", "ENOENT", "E57014"])("error %s becomes INTERNAL without its message", (code) => {
  const error = toRpcError(errorWith(code));
  expect(error).toMatchObject({ status: status.INTERNAL, code: "internal_error", message: "internal error" });
});

test("a ServiceError keeps its code and message", () => {
  expect(toRpcError(invalidArgument("name is empty"))).toMatchObject({
    status: status.INVALID_ARGUMENT,
    code: "invalid_argument",
    message: "name is empty",
  });
});

test("logs internal errors and database failures, and no ServiceError", () => {
  const lines: { level: string; message: string; method: string; error: { code?: string } }[] = [];
  const log = createLogger("test", "info", { write: (line) => void lines.push(JSON.parse(line)) });
  const logError = createCallErrorLog(log, "call");
  const fail = (method: string, error: unknown) => logError(method, error, toRpcError(error));

  fail("OpenTurn", errorWith("57014"));
  fail("CloseTurn", errorWith("ECONNREFUSED"));
  fail("CloseTurn", new ServiceError("unavailable", "unavailable", "llm-proxy is unavailable"));
  fail("OpenTurn", errorWith("23505"));

  expect(lines.map(({ level, message, method, error }) => [level, message, method, error.code])).toEqual([
    ["warn", "call failed, database unavailable", "OpenTurn", "57014"],
    ["warn", "call failed, database unavailable", "CloseTurn", "ECONNREFUSED"],
    ["error", "call failed", "OpenTurn", "23505"],
  ]);
});
