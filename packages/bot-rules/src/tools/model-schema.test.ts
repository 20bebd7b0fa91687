import { describe, expect, test } from "vitest";
import { toModelSchema } from "./model-schema.ts";
import { parseParameters, readServerParameters } from "./parameters.ts";

const EMPTY = { type: "object", properties: {}, required: [] };
const ANY = {
  anyOf: [
    { type: "string" },
    { type: "number" },
    { type: "boolean" },
    EMPTY,
    { type: "array", items: { type: "string" } },
  ],
};
const fieldOf = (x: unknown) =>
  (toModelSchema({ type: "object", properties: { x } }).properties as Record<string, unknown>).x;

describe("the schema for a model", () => {
  test.each<[string, object, object]>([
    ["without properties", { type: "object" }, EMPTY],
    ["without anything", {}, EMPTY],
    ["with a list of types", { type: ["object", "null"] }, EMPTY],
    [
      "with keywords that providers refuse",
      {
        type: "object",
        additionalProperties: false,
        minProperties: 1,
        $comment: "x",
        properties: { a: { type: "string" } },
      },
      { type: "object", properties: { a: { type: "string" } }, required: [] },
    ],
    [
      "with a required field that it does not describe",
      { type: "object", required: ["a"] },
      { type: "object", properties: { a: ANY }, required: ["a"] },
    ],
    [
      "with an optional field of a name that providers refuse",
      {
        type: "object",
        properties: { $filter: { type: "string" }, größe: {}, ["x".repeat(65)]: {}, a: { type: "string" } },
      },
      { type: "object", properties: { a: { type: "string" } }, required: [] },
    ],
    [
      "with a field that cannot have a value",
      { type: "object", properties: { a: false, b: { type: "string" } }, required: ["a", "b"] },
      { type: "object", properties: { b: { type: "string" } }, required: ["b"] },
    ],
    [
      "whose fields are in allOf",
      {
        allOf: [
          { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
          { properties: { b: { type: "number" } }, required: ["b"] },
        ],
      },
      { type: "object", properties: { a: { type: "string" }, b: { type: "number" } }, required: ["a", "b"] },
    ],
    [
      "whose root has alternatives",
      {
        oneOf: [
          { type: "object", properties: { kind: { const: "a" }, x: { type: "string" } }, required: ["kind", "x"] },
          { type: "object", properties: { kind: { const: "b" }, y: { type: "string" } }, required: ["kind"] },
        ],
      },
      {
        type: "object",
        properties: { kind: { type: "string", enum: ["a", "b"] }, x: { type: "string" }, y: { type: "string" } },
        required: ["kind"],
      },
    ],
    [
      "whose root requires one of two fields",
      { type: "object", properties: { a: { type: "string" } }, anyOf: [{ required: ["a"] }, { required: ["b"] }] },
      { type: "object", properties: { a: { type: "string" } }, required: [] },
    ],
    [
      "with fields that are named like inherited properties",
      { type: "object", properties: { constructor: { type: "string" } }, required: ["constructor"] },
      { type: "object", properties: { constructor: { type: "string" } }, required: ["constructor"] },
    ],
  ])("is normalised for a schema %s", (_, schema, expected) => {
    expect(toModelSchema(schema as Record<string, unknown>)).toEqual(expected);
  });

  test.each<[string, unknown, unknown]>([
    ["true", true, ANY],
    ["no keyword", {}, ANY],
    ["a list without items", { type: "array" }, { type: "array", items: ANY }],
    ["a list of anything", { type: "array", items: true }, { type: "array", items: ANY }],
    [
      "a tuple",
      { prefixItems: [{ type: "string" }, { type: "string" }] },
      { type: "array", items: { type: "string" } },
    ],
    ["a nullable type", { type: ["string", "null"] }, { type: "string" }],
    ["several types", { type: ["string", "integer"] }, { anyOf: [{ type: "string" }, { type: "integer" }] }],
    ["an alternative to null", { anyOf: [{ type: "integer" }, { type: "null" }] }, { type: "integer" }],
    [
      "a type beside alternatives",
      { type: "string", anyOf: [{ minLength: 1 }, { maxLength: 9 }] },
      {
        anyOf: [
          { type: "string", minLength: 1 },
          { type: "string", maxLength: 9 },
        ],
      },
    ],
    [
      "alternatives in alternatives",
      { oneOf: [{ anyOf: [{ type: "string" }, { type: "boolean" }] }, { type: "number" }] },
      { anyOf: [{ type: "string" }, { type: "boolean" }, { type: "number" }] },
    ],
    ["a const", { const: "a" }, { type: "string", enum: ["a"] }],
    ["an enum without a type", { enum: ["a", "b", null] }, { type: "string", enum: ["a", "b"] }],
    ["an enum of numbers", { enum: [1, 2] }, { type: "number", description: "One of: 1,2." }],
    [
      "an enum with an empty text",
      { type: "string", enum: ["", "a"] },
      { type: "string", description: 'One of: "","a".' },
    ],
    [
      "a format that every provider accepts",
      { type: "string", format: "date-time" },
      { type: "string", format: "date-time" },
    ],
    [
      "another format",
      { type: "string", format: "uri", description: "The page." },
      { type: "string", description: "The page. Format: uri." },
    ],
    ["a pattern", { type: "string", pattern: "^\\d+$" }, { type: "string", description: "Pattern: ^\\d+$." }],
    [
      "limits",
      { type: "integer", minimum: 1, maximum: 9, exclusiveMinimum: 0, default: 3 },
      { type: "integer", minimum: 1, maximum: 9, description: "Greater than: 0. Default: 3." },
    ],
    ["a title", { type: "boolean", title: "Gift" }, { type: "boolean", description: "Gift" }],
    [
      "a description that is not well-formed",
      { type: "boolean", description: "a\uD800" },
      { type: "boolean", description: "a\uFFFD" },
    ],
    ["a nested object without properties", { type: "object" }, EMPTY],
    ["a map", { type: "object", additionalProperties: { type: "string" } }, EMPTY],
    [
      "an implied type",
      { properties: { a: { minLength: 1 } } },
      { type: "object", properties: { a: { type: "string", minLength: 1 } }, required: [] },
    ],
    ["not, if and else", { type: "string", not: { const: "x" }, if: {}, else: {} }, { type: "string" }],
  ])("describes a field with %s", (_, schema, expected) => expect(fieldOf(schema)).toEqual(expected));

  test("has no references, at most a few levels of a recursive schema, and only keywords that every provider accepts", () => {
    const node = { type: "object", properties: { next: { $ref: "#/$defs/node" }, value: { format: "email" } } };
    const { modelSchema } = readServerParameters({
      type: "object",
      $defs: { node },
      properties: { first: { $ref: "#/$defs/node" } },
    });
    const text = JSON.stringify(modelSchema);
    expect(text).not.toMatch(/\$ref|\$defs|"format"/);
    expect(text.length).toBeLessThan(1_000);
  });

  test("of an HTTP tool is normalised in the same way", () => {
    const parameters = {
      type: "object",
      $defs: { id: { type: ["string", "null"] } },
      properties: { id: { $ref: "#/$defs/id" } },
    };
    expect(parseParameters(JSON.stringify(parameters)).modelSchema).toEqual({
      type: "object",
      properties: { id: { type: "string" } },
      required: [],
    });
  });
});
