import { describe, expect, test, vi } from "vitest";
import { SameChunk } from "./same-chunk.ts";

const textIn = (chunk: unknown) =>
  (chunk as { choices?: { delta?: { content?: unknown } }[] } | undefined)?.choices?.[0]?.delta?.content;
const chunk = (content: unknown, more: object = {}) =>
  JSON.stringify({ id: "1", choices: [{ index: 0, delta: { content }, finish_reason: null }], ...more });

function learned(data: string): SameChunk {
  const same = new SameChunk();
  same.learn(data, textIn);
  return same;
}

describe("a chunk that differs in its text alone", () => {
  test.each(["", "b", 'quoted "b"', "back\\slash", "line\nend", "\u0001", "ünïcödé 🙂", '"content":"c"', "}", "]}"])(
    "is read as JSON.parse reads it: %j",
    (text) => {
      expect(learned(chunk("a")).textOf(chunk(text))).toBe(text);
    },
  );

  test("may be escaped in another way than the one before", () => {
    const escaped = chunk("SMILE").replace("SMILE", "\\ud83d\\ude42\\u00e9");
    expect(learned(escaped).textOf(chunk("b"))).toBe("b");
    expect(learned(chunk("a")).textOf(escaped)).toBe("🙂é");
  });

  test("is read whatever the space around its text is", () => {
    const spaced = JSON.stringify(JSON.parse(chunk("a")), undefined, 1);
    expect(learned(spaced).textOf(spaced.replace('"a"', '"b"'))).toBe("b");
  });
});

describe("any other chunk is left to be read by itself", () => {
  test.each([
    ["without anything learned", new SameChunk(), chunk("b")],
    ["another field", learned(chunk("a")), chunk("b", { usage: { total_tokens: 1 } })],
    ["another finish reason", learned(chunk("a")), chunk("b").replace("null", '"stop"')],
    ["no text", learned(chunk("a")), chunk(null)],
    ["a text and a field after it", learned(chunk("a")), chunk("b").replace('"b"', '"b","tool_calls":[1]')],
    ["a text and another of the same name", learned(chunk("a")), chunk("b").replace('"b"', '"b","content":"c"')],
    ["a text that is not closed", learned(chunk("a")), chunk("b").replace('"b"', '"b')],
    ["a control character in it", learned(chunk("a")), chunk("b").replace('"b"', '"b\u0001"')],
    ["an escape that is none", learned(chunk("a")), chunk("b").replace('"b"', '"\\x"')],
    [
      "its beginning and its end in one",
      learned('{"choices":[{"delta":{"content":"a"}}]}'),
      '{"choices":[{"delta":{"content":}]}',
    ],
  ])("%s", (_, same, data) => {
    expect(same.textOf(data)).toBeUndefined();
  });

  test("after a chunk whose first `content` is not the reply's", () => {
    const other = '{"note":{"content":"a"},"choices":[{"delta":{"content":"a"}}]}';
    expect(learned(other).textOf(other)).toBeUndefined();
  });

  test("after one that is very long", () => {
    const long = chunk("a", { note: "x".repeat(5_000) });
    expect(learned(long).textOf(long)).toBeUndefined();
  });
});

test("a stream of which every chunk is another one is soon not learned from any more", () => {
  const same = new SameChunk();
  const read = vi.fn(textIn);
  for (let index = 0; index < 100; index++) {
    const data = chunk("a", { obfuscation: String(index) });
    if (same.textOf(data) === undefined) same.learn(data, read);
  }
  expect(read.mock.calls.length).toBeLessThan(10);
});

test("a stream that changes now and then is learned from all along", () => {
  const same = new SameChunk();
  const read = vi.fn(textIn);
  for (let index = 0; index < 100; index++) {
    const data = chunk("a", { created: Math.floor(index / 5) });
    if (same.textOf(data) === undefined) same.learn(data, read);
  }
  expect(read.mock.calls.length).toBe(20);
});
