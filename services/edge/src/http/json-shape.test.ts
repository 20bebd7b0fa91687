import { expect, test } from "vitest";
import { shapeOf } from "./json-shape.ts";

const shape = (text: string, structureBytes = 1_000, levels = 1_000) =>
  shapeOf(Buffer.from(text), { levels, structureBytes });

test.each([
  ["1", 0, 1],
  ['"x"', 0, 2],
  ["[]", 1, 2],
  ['{"a":{"b":[1,-2.5e3]}}', 3, 20],
  ['[[],{},[[]]] "', 3, 14],
  [' \t\r\n{ "key" : null } ', 1, 9],
  ['{"a":"}]]]"}', 1, 7],
])("%s has %i levels and %i bytes of structure", (text, levels, structureBytes) => {
  expect(shape(text)).toEqual({ levels, structureBytes });
});

test("does not count the content of strings as structure, with or without escapes", () => {
  const texts = ["", "[{", '"', "\\", '\\"[', "\\\\", '\\\\"{,', "\u0000\ud83d\ude00\ud83d", "ä€😀"];
  for (const text of texts) {
    const json = JSON.stringify({ [text]: [text, 1] });
    expect(shape(json), json).toEqual({ levels: 2, structureBytes: '{"":["",1]}'.length });
    expect(shape(json.replaceAll(/[^\x20-\x7e]/g, escaped)), json).toEqual(shape(json));
  }
});

test("treats the end of the text as the end of an unclosed string", () => {
  for (const text of ['"abc', '"abc\\', '"abc\\"', '"'])
    expect(shape(text), text).toEqual({ levels: 0, structureBytes: 2 });
});

test("stops measuring above the limit", () => {
  expect(shape("[".repeat(100_000), 10)).toEqual({ levels: 11, structureBytes: 11 });
  expect(shape('""'.repeat(100_000), 10)).toEqual({ levels: 0, structureBytes: 12 });
});

test.each([
  ['{"a":1,"b":[[[1]]],"c":[[[[[1]]]]]}', "b"],
  ['{"a":"b:","c":[[[1]]]}', "c"],
  ['{"a":{"b":[[1]]}}', "a"],
  ['{"a\\"\\u00e4":[[[1]]]}', 'a"ä'],
  ['{"a":1}', undefined],
  ["[[[[1]]]]", undefined],
  ['"a":[[[[1]]]]', undefined],
])("of %s, the field with more than three levels is %s", (text, field) => {
  expect(shape(text, 1_000, 3).excess).toBe(field);
});

test("names the field in which the structure exceeds the limit", () => {
  const zeros = new Array(100).fill(0);
  expect(shape(JSON.stringify({ a: "x".repeat(500), b: zeros, c: zeros }), 120).excess).toBe("b");
  expect(shape(JSON.stringify({ a: zeros, b: zeros }), 300).excess).toBe("b");
  expect(shape(JSON.stringify({ a: 1, b: "x" }), 300).excess).toBeUndefined();
  expect(shape(JSON.stringify(zeros), 120).excess).toBeUndefined();
});

function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
