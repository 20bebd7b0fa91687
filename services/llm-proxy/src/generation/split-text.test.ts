import { expect, test } from "vitest";
import { pieces } from "./split-text.ts";

test("a text that is short is one piece", () => {
  expect([...pieces("hello")]).toEqual(["hello"]);
  expect([...pieces("x".repeat(1_024))]).toEqual(["x".repeat(1_024)]);
});

test("a long text is whole again when its pieces are joined, and no piece cuts a character", () => {
  for (const text of ["é".repeat(5_000), `a${"👋🏽".repeat(3_000)}`, "👋".repeat(2_048)]) {
    const parts = [...pieces(text)];
    expect(parts.join("")).toBe(text);
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(1_024);
      expect(part.isWellFormed()).toBe(true);
    }
  }
});
