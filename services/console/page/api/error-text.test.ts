import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { errorText } from "./error-text.ts";
import { SignedOutError } from "./session-fetch.ts";

test.each([
  ["a request", new SignedOutError()],
  ["a call, whose error Connect wraps", ConnectError.from(new SignedOutError(), Code.Unknown)],
])("names the end of the session, not the connection, as the problem of %s", (_, error) => {
  expect(errorText(error)).toBe("Your session has ended. Reload the page to sign in again.");
});

test("names the connection as the problem if no response arrived", () => {
  const text = "The console cannot be reached. Check your connection.";
  expect(errorText(new TypeError("Failed to fetch"))).toBe(text);
  expect(errorText(ConnectError.from(new TypeError("Failed to fetch")))).toBe(text);
});
