import { expect, test } from "vitest";
import { ToolCallDeltas } from "./tool-call-deltas.ts";

function assemble(...chunks: unknown[][]) {
  const deltas = new ToolCallDeltas();
  for (const chunk of chunks) deltas.push(chunk);
  return deltas.requests;
}
const piece = (index: number | undefined, id: string | undefined, name: string | undefined, given: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  type: "function",
  function: { ...(name !== undefined && { name }), arguments: given },
});

test.each([
  [
    "one call in pieces",
    [[piece(0, "a", "find", "")], [piece(0, undefined, undefined, '{"id"')], [piece(0, undefined, undefined, ":1}")]],
    [["a", "find", '{"id":1}']],
  ],
  [
    "two, their pieces mixed",
    [
      [piece(0, "a", "one", "{"), piece(1, "b", "two", "[")],
      [piece(1, undefined, undefined, "]"), piece(0, undefined, undefined, "}")],
    ],
    [
      ["a", "one", "{}"],
      ["b", "two", "[]"],
    ],
  ],
  [
    "two under the same index, by their ids",
    [[piece(0, "a", "one", "{}")], [piece(0, "b", "two", "{}")]],
    [
      ["a", "one", "{}"],
      ["b", "two", "{}"],
    ],
  ],
  [
    "without an index",
    [[piece(undefined, "a", "one", "{")], [piece(undefined, undefined, undefined, "}")]],
    [["a", "one", "{}"]],
  ],
  [
    "without an id",
    [[piece(0, undefined, "one", "{}")], [piece(1, "", "two", "{}")]],
    [
      ["call_0", "one", "{}"],
      ["call_1", "two", "{}"],
    ],
  ],
  ["with its name in every piece", [[piece(0, "a", "one", "{")], [piece(0, "a", "one", "}")]], [["a", "one", "{}"]]],
  ["with an object for arguments", [[piece(0, "a", "one", { x: 1 })]], [["a", "one", '{"x":1}']]],
  ["without arguments", [[{ index: 0, id: "a", function: { name: "one" } }]], [["a", "one", ""]]],
  ["without a name", [[piece(0, "a", undefined, "{}")]], []],
])("%s", (_, chunks, expected) => {
  expect(assemble(...chunks).map((call) => [call.id, call.name, call.arguments])).toEqual(expected);
});

test.each([
  ["a call that is none", [[3]], "malformed"],
  ["a function that is none", [[{ index: 0, function: "find" }]], "malformed"],
  ["calls without end", [Array.from({ length: 65 }, (_, index) => piece(index, `c${index}`, "f", ""))], "too_large"],
  ["arguments without end", [[piece(0, "a", "f", "x".repeat(70_000))]], "too_large"],
])("%s is an error", (_, chunks, reason) => {
  expect(() => assemble(...chunks)).toThrow(reason);
});
