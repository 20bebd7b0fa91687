import { expect, test } from "vitest";
import { splitText } from "./split-text.ts";

test("does not split a text of up to 1,024 code units", () => {
  expect([...splitText("hello")]).toEqual(["hello"]);
  expect([...splitText("x".repeat(1_024))]).toEqual(["x".repeat(1_024)]);
});

test("splits a longer text without losing characters or splitting a surrogate pair", () => {
  for (const text of ["é".repeat(5_000), `a${"👋🏽".repeat(3_000)}`, "👋".repeat(2_048)]) {
    const parts = [...splitText(text)];
    expect(parts.join("")).toBe(text);
    for (const part of parts) {
      expect(part.length).toBeLessThanOrEqual(1_024);
      expect(part.isWellFormed()).toBe(true);
    }
  }
});
