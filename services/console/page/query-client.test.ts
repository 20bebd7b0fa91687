import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { NoResponseError, SignedOutError } from "./api/session-fetch.ts";
import { queryClient } from "./query-client.ts";

const retry = queryClient.getDefaultOptions().queries?.retry as (failures: number, error: unknown) => boolean;

test.each([
  ["a broken connection", new NoResponseError(), true],
  ["a broken connection of a Connect call", ConnectError.from(new NoResponseError()), true],
  ["a service that is not available", new ConnectError("unavailable", Code.Unavailable), true],
  ["a refused request", new ConnectError("invalid", Code.InvalidArgument), false],
  ["the end of the session", new SignedOutError(), false],
  ["the end of the session in a Connect call", ConnectError.from(new SignedOutError()), false],
])("a query is retried at most twice, and only if a retry may succeed: %s", (_, error, isRetried) => {
  expect(retry(0, error)).toBe(isRetried);
  expect(retry(1, error)).toBe(isRetried);
  expect(retry(2, error)).toBe(false);
});
