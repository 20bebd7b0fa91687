import { status } from "@parley/rpc";
import { expect, test } from "vitest";
import { invalid } from "./errors.ts";
import { toRpcError } from "./grpc-server.ts";

const withCode = (code: string) => Object.assign(new Error("internal words"), { code });

test.each(["08006", "53300", "57P01", "57014", "40P01", "ECONNREFUSED", "EAI_AGAIN"])(
  "%s is the database's absence: it may be asked again, and its words stay inside",
  (code) => {
    const error = toRpcError(withCode(code));
    expect(error).toMatchObject({ status: status.UNAVAILABLE, code: "unavailable" });
    expect(error.message).not.toContain("internal words");
  },
);

test.each(["23505", "22P02", "42501", "ENOENT", "E57014"])(
  "%s is a failure of ours, and its words stay inside",
  (code) => {
    const error = toRpcError(withCode(code));
    expect(error).toMatchObject({ status: status.INTERNAL, code: "internal_error", message: "internal error" });
  },
);

test("an error of ours keeps its code and words", () => {
  expect(toRpcError(invalid("say it otherwise"))).toMatchObject({
    status: status.INVALID_ARGUMENT,
    code: "invalid_argument",
    message: "say it otherwise",
  });
});
