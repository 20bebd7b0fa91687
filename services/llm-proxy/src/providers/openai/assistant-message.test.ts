import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { AssistantMessage } from "./assistant-message.ts";

const CALL = { index: 0, id: "a", type: "function", function: { name: "find", arguments: "{}" } };

function build(...deltas: Record<string, unknown>[]) {
  const message = new AssistantMessage({ toolNames: ["find"], round: 0 });
  for (const delta of deltas) message.push(delta);
  return message.build();
}

const FIELDS: readonly [name: string, deltas: Record<string, unknown>[], fields: object][] = [
  [
    "reasoning in parts",
    [
      { role: "assistant", content: null, reasoning_content: "I " },
      { reasoning_content: "am" },
      { reasoning_content: "am" },
    ],
    { reasoning_content: "I amam" },
  ],
  ["an empty reasoning, which some providers require", [{ reasoning_content: "" }], { reasoning_content: "" }],
  ["no null", [{ reasoning_content: null, audio: null }], {}],
  ["a thought signature of the message", [{ thought_signature: "x" }], { thought_signature: "x" }],
  [
    "an opaque value in parts",
    [{ thought_signature: "ab" }, { thought_signature: "cd" }],
    { thought_signature: "abcd" },
  ],
  [
    "an opaque value that is repeated",
    [{ thought_signature: "ab" }, { thought_signature: "ab" }],
    { thought_signature: "ab" },
  ],
  [
    "nested objects",
    [{ extra_content: { google: { thought_signature: "x" } } }, { extra_content: { other: [1] } }],
    { extra_content: { google: { thought_signature: "x" }, other: [1] } },
  ],
  [
    "reasoning details by their index and type",
    [
      { reasoning_details: [{ type: "reasoning.text", text: "a", format: "f", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.text", text: "b", format: "f", index: 0, signature: null }] },
      { reasoning_details: [{ type: "reasoning.summary", summary: "s", index: 1 }] },
      { reasoning_details: [{ type: "reasoning.text", signature: "sig", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.encrypted", data: "d", id: "r1", index: 0 }] },
      { reasoning_details: [{ type: "reasoning.encrypted", data: "e", id: "r2", index: 0 }] },
    ],
    {
      reasoning_details: [
        { type: "reasoning.text", text: "ab", format: "f", index: 0, signature: "sig" },
        { type: "reasoning.summary", summary: "s", index: 1 },
        { type: "reasoning.encrypted", data: "d", id: "r1", index: 0 },
        { type: "reasoning.encrypted", data: "e", id: "r2", index: 0 },
      ],
    },
  ],
  [
    "blocks without indexes, each up to its signature",
    [
      { thinking_blocks: [{ type: "thinking", thinking: "a" }] },
      { thinking_blocks: [{ type: "thinking", thinking: "b", signature: "" }] },
      { thinking_blocks: [{ type: "thinking", thinking: "", signature: "s1" }] },
      { thinking_blocks: [{ type: "thinking", thinking: "c" }] },
      {
        thinking_blocks: [
          { type: "redacted_thinking", data: "d" },
          { type: "redacted_thinking", data: "e" },
        ],
      },
    ],
    {
      thinking_blocks: [
        { type: "thinking", thinking: "ab", signature: "s1" },
        { type: "thinking", thinking: "c" },
        { type: "redacted_thinking", data: "d" },
        { type: "redacted_thinking", data: "e" },
      ],
    },
  ],
  [
    "numbers and booleans, the last of each",
    [
      { score: 1, final: false },
      { score: 2, final: true },
    ],
    { score: 2, final: true },
  ],
  [
    "unknown fields of any name",
    [{ constructor: { x: 1 } }, { toString: "y" }],
    { constructor: { x: 1 }, toString: "y" },
  ],
];

test.each(FIELDS)("the message that goes back has %s", (_, deltas, fields) => {
  expect(build(...deltas, { tool_calls: [CALL] })).toEqual({
    ...fields,
    role: "assistant",
    content: null,
    tool_calls: [{ id: "a", type: "function", function: { name: "find", arguments: "{}" } }],
  });
});

test("the message that goes back has the fields of each tool call and of its function", () => {
  const { tool_calls: calls } = build(
    { tool_calls: [{ ...CALL, extra_content: { google: { thought_signature: "x" } } }] },
    {
      tool_calls: [
        { index: 1, id: "b", thought_signature: "y", function: { name: "find", arguments: "{}", strict: true } },
      ],
    },
  );
  expect(calls).toEqual([
    {
      id: "a",
      type: "function",
      function: { name: "find", arguments: "{}" },
      extra_content: { google: { thought_signature: "x" } },
    },
    { id: "b", type: "function", thought_signature: "y", function: { name: "find", arguments: "{}", strict: true } },
  ]);
});

test("the message that goes back has the content as it came, with thoughts and as parts", () => {
  expect(build({ content: "<think>a" }, { content: "</think>b" }).content).toBe("<think>a</think>b");
  const thinking = (text: string) => ({ content: [{ type: "thinking", thinking: [{ type: "text", text }] }] });
  expect(build(thinking("a"), thinking("b"), { content: "c" }, { content: "d" }).content).toEqual([
    { type: "thinking", thinking: [{ type: "text", text: "ab" }] },
    { type: "text", text: "cd" },
  ]);
});

test("a field named __proto__ does not change any object's prototype", () => {
  const delta = JSON.parse('{"__proto__": {"polluted": 1}, "a": {"__proto__": {"polluted": 1}}}');
  build(delta, structuredClone(delta));
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

test.each([
  ["nested too deeply", () => ({ x: JSON.parse(`${"[".repeat(50_000)}${"]".repeat(50_000)}`) })],
  ["too long", () => ({ x: "x".repeat(5 * 1024 * 1024) })],
])("fields that are %s are an error", (_, createDelta) => {
  expect(() => build(createDelta())).toThrow("too_large");
});

test.each([
  ["content", () => [{ content: Array.from({ length: 20_000 }, (_, index) => ({ type: "x", index })) }]],
  [
    "reasoning_details",
    () =>
      Array.from({ length: 20_000 }, (_, id) => ({ reasoning_details: [{ type: "reasoning.text", id, text: "a" }] })),
  ],
])("too many parts of %s are an error, in less than a second of CPU time", (_, createDeltas) => {
  const deltas = createDeltas();
  expect(cpuMsOf(() => expect(() => build(...deltas)).toThrow("too_large"))).toBeLessThan(1_000);
});

test("an array of numbers may be long", () => {
  const deltas = Array.from({ length: 50 }, () => ({ token_ids: Array.from({ length: 100 }, (_, index) => index) }));
  expect(build(...deltas).token_ids).toHaveLength(5_000);
});

test("without tools, no field is kept", () => {
  const message = new AssistantMessage({ toolNames: [], round: 0 });
  expect(message.push({ content: "text", reasoning_content: "Hm" })).toBe("text");
  expect(message.build()).not.toHaveProperty("reasoning_content");
});

test.each<[boolean, Record<string, unknown>]>([
  [false, { role: "assistant", content: "", refusal: null }],
  [false, { content: null, reasoning_content: "", tool_calls: [] }],
  [true, { content: null, reasoning_content: "Hm" }],
  [true, { content: "", reasoning_details: [{ type: "reasoning.text", text: "Hm" }] }],
  [true, { content: "Hi" }],
])("has output is %s after the delta %j", (hasOutput, delta) => {
  const message = new AssistantMessage({ toolNames: [], round: 0 });
  message.push(delta);
  expect(message.hasOutput).toBe(hasOutput);
});
