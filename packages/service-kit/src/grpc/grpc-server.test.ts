import { status } from "@parley/rpc";
import { expect, test } from "vitest";
import { invalidArgument } from "../errors.ts";
import { toRpcError } from "./grpc-server.ts";

const errorWith = (code: string) => Object.assign(new Error("internal details"), { code });

test.each(["08006", "53300", "57P01", "57014", "40P01", "25006", "ECONNREFUSED", "EAI_AGAIN"])(
  "%s of the database or network becomes UNAVAILABLE without its message",
  (code) => {
    const error = toRpcError(errorWith(code));
    expect(error).toMatchObject({ status: status.UNAVAILABLE, code: "unavailable" });
    expect(error.message).not.toContain("internal details");
  },
);

test.each(["23505", "22P02", "42501", "ENOENT", "E57014"])("%s becomes INTERNAL without its message", (code) => {
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
