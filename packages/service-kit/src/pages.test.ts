import { expect, test } from "vitest";
import { cutPage, turnPageTokens } from "./pages.ts";

const TURN_ID = "0b7d5a3e-6f0c-4a53-9f0e-1d2c3b4a5f60";

test("a page token contains a position", () => {
  const position = { at: "2026-02-28T00:00:00Z", workspaceId: "ws_1", turnId: TURN_ID };
  expect(turnPageTokens.parse(turnPageTokens.format(position))).toEqual(position);
  expect(turnPageTokens.format(undefined)).toBe("");
  expect(turnPageTokens.parse("")).toBeUndefined();
});

test.each([
  ["an impossible date", `2026-02-31T00:00:00Z ws_1 ${TURN_ID}`],
  ["too few values", "2026-02-28T00:00:00Z ws_1"],
  ["too many values", `2026-02-28T00:00:00Z ws_1 ${TURN_ID} x`],
])("a page token with %s is refused", (_, token) => {
  expect(() => turnPageTokens.parse(token)).toThrow("page_token is invalid");
});

test("a page has a last row unless it ends the list", () => {
  expect(cutPage([1, 2, 3], 2)).toEqual({ page: [1, 2], last: 2 });
  expect(cutPage([1, 2], 2)).toEqual({ page: [1, 2], last: undefined });
});
