import { expect, test } from "vitest";
import { WellFormedTextBuffer } from "./well-formed-text.ts";

function pass(pieces: string[]): string {
  const buffer = new WellFormedTextBuffer();
  const out = pieces.map((piece) => buffer.push(piece));
  for (const piece of out) expect(piece.isWellFormed()).toBe(true);
  return out.join("") + buffer.flush();
}

test("joins a surrogate pair that was split", () => {
  expect(pass(["wave \ud83d", "\udc4b!"])).toBe("wave 👋!");
  expect(pass(["\ud83d", "", "\udc4b"])).toBe("👋");
});

test("replaces lone surrogates and NUL", () => {
  expect(pass(["a\ud83d", "b"])).toBe("a\ufffdb");
  expect(pass(["\udc4b"])).toBe("\ufffd");
  expect(pass(["end \ud83d"])).toBe("end \ufffd");
  expect(pass(["\ud83d", "\ud83d", "\udc4b"])).toBe("\ufffd👋");
  expect(pass(["a\0b"])).toBe("a\ufffdb");
});

test("does not change well-formed text", () => {
  expect(new WellFormedTextBuffer().push("日本語 👨‍👩‍👧 \n\nevent: done")).toBe("日本語 👨‍👩‍👧 \n\nevent: done");
});
