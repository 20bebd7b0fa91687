import { Code, ConnectError } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { errorText } from "./error-text.ts";
import { NoResponseError, SignedOutError } from "./session-fetch.ts";

test.each([
  ["a SignedOutError", new SignedOutError()],
  ["a SignedOutError that Connect wraps", ConnectError.from(new SignedOutError(), Code.Unknown)],
])("after %s, reports that the session has ended", (_, error) => {
  expect(errorText(error)).toBe("Your session has ended. Reload the page to sign in again.");
});

test("reports that the connection failed if no response arrived", () => {
  const text = "The console cannot be reached. Check your connection, then try again.";
  const noResponse = new NoResponseError(new TypeError("Failed to fetch"));
  expect(errorText(noResponse)).toBe(text);
  expect(errorText(ConnectError.from(noResponse))).toBe(text);
});

test.each([
  ["Chromium", "Failed to fetch dynamically imported module: https://console.example.com/assets/bots.js"],
  ["Firefox", "error loading dynamically imported module: https://console.example.com/assets/bots.js"],
  ["Safari", "Importing a module script failed."],
])("asks to reload the page if %s cannot load a part of the code", (_, message) => {
  expect(errorText(new TypeError(message))).toBe(
    "A part of the console could not be loaded. It may have been updated. Reload the page.",
  );
});

test.each([
  ["a programming error", new TypeError("Cannot read properties of undefined (reading 'slug')")],
  ["a programming error that Connect wraps", ConnectError.from(new TypeError("x is not a function"))],
  ["a response that is not JSON", new SyntaxError("Unexpected token '<'")],
])("does not name the connection as the problem after %s", (_, error) => {
  expect(errorText(error)).toBe("Something went wrong. Try again in a few seconds.");
});

test.each([
  ["border_radius must be from 0 to 64", "Rounding of corners, in pixels must be from 0 to 64."],
  [
    "fallback must have at most 2000 characters, and no NUL",
    "Text in place of a blocked answer must have at most 2000 characters.",
  ],
  ["custom_css_vars: each name must be short", "CSS variables: each name must be short."],
  ["the text is too long", "The text is too long."],
])("shows the message %j of a service as %j", (message, text) => {
  expect(errorText(new ConnectError(message, Code.InvalidArgument))).toBe(text);
});
