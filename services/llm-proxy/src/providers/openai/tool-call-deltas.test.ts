import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { ToolCallAssembler } from "./tool-call-deltas.ts";

function assemble(...chunks: unknown[][]) {
  const assembler = new ToolCallAssembler({ toolNames: ["one", "two", "find", "find_all"], round: 0 });
  for (const chunk of chunks) assembler.push(chunk);
  return assembler.calls.map(({ request }) => request);
}
const delta = (index: number | undefined, id: string | undefined, name: string | undefined, args: unknown) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  type: "function",
  function: { ...(name !== undefined && { name }), arguments: args },
});

test.each([
  [
    "one call in several deltas",
    [[delta(0, "a", "find", "")], [delta(0, undefined, undefined, '{"id"')], [delta(0, undefined, undefined, ":1}")]],
    [["a", "find", '{"id":1}']],
  ],
  [
    "two calls with interleaved deltas",
    [
      [delta(0, "a", "one", "{"), delta(1, "b", "two", "[")],
      [delta(1, undefined, undefined, "]"), delta(0, undefined, undefined, "}")],
    ],
    [
      ["a", "one", "{}"],
      ["b", "two", "[]"],
    ],
  ],
  [
    "two calls with one index and different ids",
    [[delta(0, "a", "one", "{}")], [delta(0, "b", "two", "{}")]],
    [
      ["a", "one", "{}"],
      ["b", "two", "{}"],
    ],
  ],
  [
    "a call without an index",
    [[delta(undefined, "a", "one", "{")], [delta(undefined, undefined, undefined, "}")]],
    [["a", "one", "{}"]],
  ],
  [
    "calls without ids",
    [[delta(0, undefined, "one", "{}")], [delta(1, "", "two", "{}")]],
    [
      ["c00000000", "one", "{}"],
      ["c00000001", "two", "{}"],
    ],
  ],
  [
    "a call with its name in every delta",
    [[delta(0, "a", "one", "{")], [delta(0, "a", "one", "}")]],
    [["a", "one", "{}"]],
  ],
  ["a call with an object as arguments", [[delta(0, "a", "one", { x: 1 })]], [["a", "one", '{"x":1}']]],
  ["a call without arguments", [[{ index: 0, id: "a", function: { name: "one" } }]], [["a", "one", "{}"]]],
  [
    "two calls of one index without ids, of which the first has no arguments",
    [[delta(0, undefined, "one", "")], [delta(0, undefined, "two", "{}")]],
    [
      ["c00000000", "one", "{}"],
      ["c00000001", "two", "{}"],
    ],
  ],
  [
    "two equal calls in one chunk",
    [[delta(undefined, undefined, "one", "{}"), delta(undefined, undefined, "one", "{}")]],
    [
      ["c00000000", "one", "{}"],
      ["c00000001", "one", "{}"],
    ],
  ],
  [
    "two calls with one id and without indexes",
    [[delta(undefined, "a", "one", '{"x":1}')], [delta(undefined, "a", "one", '{"x":2}')]],
    [
      ["a", "one", '{"x":1}'],
      ["c00000001", "one", '{"x":2}'],
    ],
  ],
  [
    "a call that is repeated with the same id",
    [[delta(undefined, "a", "one", '{"x":1}')], [delta(undefined, "a", "one", '{"x":1}')]],
    [["a", "one", '{"x":1}']],
  ],
  [
    "a name in parts that begins with another tool's name",
    [[delta(0, "a", "find", "")], [delta(0, "a", "_all", "")], [delta(0, "a", undefined, '{"x":{}}')]],
    [["a", "find_all", '{"x":{}}']],
  ],
  [
    "arguments with nested objects in small parts",
    [[delta(0, "a", "one", "")], ...[...'{"x":{"y":[{},{}]}}'].map((part) => [delta(0, undefined, undefined, part)])],
    [["a", "one", '{"x":{"y":[{},{}]}}']],
  ],
  ["no call from a delta without a name", [[delta(0, "a", undefined, "{}")]], []],
])("assembles %s", (_, chunks, expected) => {
  expect(assemble(...chunks).map((call) => [call.id, call.name, call.arguments])).toEqual(expected);
});

test.each([
  ["a delta that is not an object", [[3]], "malformed"],
  ["a function that is not an object", [[{ index: 0, function: "find" }]], "malformed"],
  ["too many calls", [Array.from({ length: 65 }, (_, index) => delta(index, `c${index}`, "f", ""))], "too_large"],
  ["too long arguments", [[delta(0, "a", "f", "x".repeat(70_000))]], "too_large"],
])("%s is an error", (_, chunks, reason) => {
  expect(() => assemble(...chunks)).toThrow(reason);
});

test("arguments whose end must be looked for thousands of times are an error, in less than a second of CPU time", () => {
  const chunks = [
    [delta(0, "a", "one", '{"x":"')],
    ...Array.from({ length: 60_000 }, () => [delta(0, "", "one", "}")]),
  ];
  expect(cpuMsOf(() => expect(() => assemble(...chunks)).toThrow("too_large"))).toBeLessThan(1_000);
});
