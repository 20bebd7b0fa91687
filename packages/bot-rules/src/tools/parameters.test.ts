import { describe, expect, test } from "vitest";
import { parseParameters } from "./parameters.ts";

describe("findProblem", () => {
  const { findProblem } = parseParameters(
    JSON.stringify({
      type: "object",
      properties: {
        id: { type: "string", pattern: "^[A-Z]+(x+x+)*$" },
        code: { pattern: "^\\d+$" },
        count: { type: "integer", maximum: 9 },
      },
      required: ["id", "count"],
      additionalProperties: false,
    }),
  );

  test.each([
    ["accepts arguments that match the schema", { id: "ABC", count: 3 }, undefined],
    ["refuses an argument of another type", { id: "ABC", count: "3" }, "must be integer"],
    ["refuses a missing argument", { id: "ABC" }, "must have required property 'count'"],
    ["refuses an unknown argument", { id: "ABC", count: 1, more: 1 }, "must NOT have additional properties"],
    ["refuses an argument that does not match its pattern", { id: "ABC", count: 1, code: "x" }, "must match pattern"],
    [
      "refuses within 500 ms an argument that makes a backtracking engine take very long",
      { id: `A${"x".repeat(5_000)}y`, count: 1 },
      "must match pattern",
    ],
  ])("%s", (_, values, problem) => {
    const started = performance.now();
    if (problem === undefined) expect(findProblem(values)).toBeUndefined();
    else expect(findProblem(values)).toContain(problem);
    expect(performance.now() - started).toBeLessThan(500);
  });
});

describe("a schema that does not forbid other fields", () => {
  const text = { type: "string" };
  const problem = (parameters: object, values: unknown) =>
    parseParameters(JSON.stringify({ type: "object", ...parameters })).findProblem(values);

  test.each([
    ["an argument", { properties: { id: text } }, { id: "1", admin: true }, "admin"],
    ["an argument of a tool without any", {}, { admin: true }, "admin"],
    ["a field of an argument", { properties: { o: { properties: { id: text } } } }, { o: { admin: 1 } }, "admin"],
    ["a field of an item", { properties: { l: { items: { properties: {} } } } }, { l: [{ admin: 1 }] }, "admin"],
    ["an argument beside combined schemas", { allOf: [{ properties: { id: text } }] }, { id: "1", admin: 1 }, "admin"],
  ])("refuses %s that it does not describe", (_, parameters, values, name) =>
    expect(problem(parameters, values)).toContain(`: ${name}`),
  );

  test.each([
    [
      "fields of combined schemas",
      { allOf: [{ properties: { id: text } }, { properties: { n: {} } }] },
      { id: "1", n: 2 },
    ],
    ["fields of an argument without a description", { properties: { o: { type: "object" } } }, { o: { any: 1 } }],
    ["other arguments if it permits them", { properties: { id: text }, additionalProperties: true }, { id: "1", x: 1 }],
  ])("accepts %s", (_, parameters, values) => expect(problem(parameters, values)).toBeUndefined());
});
