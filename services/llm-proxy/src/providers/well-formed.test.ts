import { expect, test } from "vitest";
import { WellFormedText } from "./well-formed.ts";

function through(pieces: string[]): string {
  const text = new WellFormedText();
  const out = pieces.map((piece) => text.push(piece));
  for (const piece of out) expect(piece.isWellFormed()).toBe(true);
  return out.join("") + text.flush();
}

test("joins a surrogate pair that was cut in two", () => {
  expect(through(["wave \ud83d", "\udc4b!"])).toBe("wave 👋!");
  expect(through(["\ud83d", "", "\udc4b"])).toBe("👋");
});

test("replaces lone surrogates and NUL", () => {
  expect(through(["a\ud83d", "b"])).toBe("a\ufffdb");
  expect(through(["\udc4b"])).toBe("\ufffd");
  expect(through(["end \ud83d"])).toBe("end \ufffd");
  expect(through(["\ud83d", "\ud83d", "\udc4b"])).toBe("\ufffd👋");
  expect(through(["a\0b"])).toBe("a\ufffdb");
});

test("passes well-formed text on as it came", () => {
  expect(new WellFormedText().push("日本語 👨‍👩‍👧 \n\nevent: done")).toBe("日本語 👨‍👩‍👧 \n\nevent: done");
});
