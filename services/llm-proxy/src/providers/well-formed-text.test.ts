import { expect, test } from "vitest";
import { WellFormedTextBuffer } from "./well-formed-text.ts";

function passThroughBuffer(pieces: string[]): string {
  const buffer = new WellFormedTextBuffer();
  const out = pieces.map((piece) => buffer.push(piece));
  for (const piece of out) expect(piece.isWellFormed()).toBe(true);
  return out.join("") + buffer.flush();
}

test("joins a surrogate pair that was split", () => {
  expect(passThroughBuffer(["wave \ud83d", "\udc4b!"])).toBe("wave 👋!");
  expect(passThroughBuffer(["\ud83d", "", "\udc4b"])).toBe("👋");
});

test("replaces lone surrogates and NUL", () => {
  expect(passThroughBuffer(["a\ud83d", "b"])).toBe("a\ufffdb");
  expect(passThroughBuffer(["\udc4b"])).toBe("\ufffd");
  expect(passThroughBuffer(["end \ud83d"])).toBe("end \ufffd");
  expect(passThroughBuffer(["\ud83d", "\ud83d", "\udc4b"])).toBe("\ufffd👋");
  expect(passThroughBuffer(["a\0b"])).toBe("a\ufffdb");
});

test("does not change well-formed text", () => {
  expect(new WellFormedTextBuffer().push("日本語 👨‍👩‍👧 \n\nevent: done")).toBe("日本語 👨‍👩‍👧 \n\nevent: done");
});
