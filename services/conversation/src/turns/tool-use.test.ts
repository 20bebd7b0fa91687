import { create } from "@bufbuild/protobuf";
import { ToolUseSchema } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { toToolUse } from "./tool-use.ts";

const toolUseWith = (text: string) =>
  toToolUse(create(ToolUseSchema, { name: "find", arguments: text, status: "ok", latencyMs: 12 }));

test("toToolUse returns a tool call in the transcript's format", () => {
  expect(toolUseWith('{"id":7,"tags":["a",{"b":null}]}')).toEqual({
    name: "find",
    arguments: { id: 7, tags: ["a", { b: null }] },
    status: "ok",
    latency_ms: 12,
  });
});

test.each([
  "",
  "{",
  "[]",
  '"x"',
  "null",
  '{"a":"\\u0000"}',
  '{"\\ud800":1}',
  '{"a":"\\udc00x"}',
  `{"a":${"[".repeat(40)}${"]".repeat(40)}}`,
])(
  "toToolUse replaces arguments by {} if they are not a JSON object, are nested too deeply, or cannot be stored in jsonb: %j",
  (text) => expect(toolUseWith(text).arguments).toEqual({}),
);

test("toToolUse keeps text that looks like an escaped NUL or lone surrogate", () => {
  const value = { pattern: "\\u0000", path: "C:\\ud800" };
  expect(toolUseWith(JSON.stringify(value)).arguments).toEqual(value);
});

test("toToolUse keeps arguments whose names are properties of Object.prototype", () => {
  expect(Object.keys(toolUseWith('{"__proto__":{"a":1},"constructor":2}').arguments)).toEqual([
    "__proto__",
    "constructor",
  ]);
});
