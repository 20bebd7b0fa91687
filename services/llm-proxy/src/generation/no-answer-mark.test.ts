import { describe, expect, test } from "vitest";
import { NoAnswerMark } from "./no-answer-mark.ts";

function read(pieces: readonly string[]): { text: string; isFound: boolean } {
  const mark = new NoAnswerMark();
  const text = [...pieces.map((piece) => mark.push(piece)), mark.end()].join("");
  return { text, isFound: mark.isFound };
}

describe("the mark of a reply without an answer", () => {
  test.each([
    ["at the start", "[no answer] I don't know.", "I don't know."],
    ["on a line of its own", "[no answer]\n\nI don't know.", "I don't know."],
    ["in capital letters", "[No Answer] I don't know.", "I don't know."],
    ["at the end", "I don't know. [no answer]", "I don't know. "],
    ["twice", "[no answer] I don't [no answer]know.", "I don't know."],
    ["after brackets", "[1] I [no] [no answer]don't know.", "[1] I [no] don't know."],
  ])("%s is removed, however the text is split", (_, reply, text) => {
    expect(read([reply])).toEqual({ text, isFound: true });
    expect(read([...reply])).toEqual({ text, isFound: true });
    for (let at = 1; at < reply.length; at++)
      expect(read([reply.slice(0, at), reply.slice(at)])).toEqual({ text, isFound: true });
  });

  test.each(["Hello", " Hello [no", "[no answers]", "a [link](https://example.com) and [", "no answer", ""])(
    "is not in %j, which stays as it is",
    (reply) => {
      expect(read([reply])).toEqual({ text: reply, isFound: false });
      expect(read([...reply])).toEqual({ text: reply, isFound: false });
    },
  );

  test("delays no other text", () => {
    const mark = new NoAnswerMark();
    expect(mark.push("Hello")).toBe("Hello");
    expect(mark.push(" [1]")).toBe(" [1]");
    expect(mark.push(" [n")).toBe(" ");
    expect(mark.push("ew]")).toBe("[new]");
  });
});
