import { RpcError, status } from "@parley/rpc";
import { expect, it } from "vitest";
import { translateTurnError } from "./stream-turn.ts";

it.each([
  [status.NOT_FOUND, "session_not_found", 404, "session_not_found"],
  [status.FAILED_PRECONDITION, "idempotency_key_reused", 409, "idempotency_key_reused"],
  [status.RESOURCE_EXHAUSTED, "overloaded", 503, "overloaded"],
  [status.RESOURCE_EXHAUSTED, "moderation_overloaded", 503, "overloaded"],
  [status.UNAVAILABLE, "unavailable", 503, "unavailable"],
  [status.INTERNAL, "internal_error", 503, "unavailable"],
])("translates RPC status %i with the code %s to HTTP %i with the code %s", (rpcStatus, rpcCode, httpStatus, code) => {
  const error = translateTurnError(new RpcError(rpcStatus, rpcCode, "refused"));
  expect(error).toMatchObject({ status: httpStatus, code });
});

it("returns an error that is not an RpcError unchanged", () => {
  const error = new Error("a defect");
  expect(translateTurnError(error)).toBe(error);
});
