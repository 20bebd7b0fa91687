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
      "refuses, within 500 ms, an argument that a backtracking engine would match for very long",
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

describe("the check for fields that the schema does not describe", () => {
  const text = { type: "string" };
  const problem = (parameters: object, values: unknown) =>
    parseParameters(JSON.stringify({ type: "object", ...parameters })).findProblem(values);
  const address = { properties: { id: text } };
  const $defs = { address, order: { properties: { to: address } }, more: { properties: { more: text } } };
  const reference = { $ref: "#/$defs/address" };
  const invalid = { id: "1", admin: 1 };

  test.each([
    ["an argument", { properties: { id: text } }, { id: "1", admin: true }, "admin"],
    ["an argument of a tool without arguments", {}, { admin: true }, "admin"],
    ["a field of an argument", { properties: { o: { properties: { id: text } } } }, { o: { admin: 1 } }, "admin"],
    ["a field of an item", { properties: { l: { items: { properties: {} } } } }, { l: [{ admin: 1 }] }, "admin"],
    ["a field of a referenced schema", { $defs, properties: { o: reference } }, { o: invalid }, "admin"],
    [
      "a nested field in a referenced schema",
      { $defs, properties: { o: { $ref: "#/$defs/order" } } },
      { o: { to: invalid } },
      "admin",
    ],
    [
      "a field of combined schemas",
      { properties: { o: { allOf: [address, { required: ["id"] }] } } },
      { o: invalid },
      "admin",
    ],
    [
      "a field of an alternative",
      { properties: { o: { anyOf: [{ type: "null" }, address] } } },
      { o: invalid },
      "admin",
    ],
    [
      "a nested field in an alternative",
      { properties: { o: { oneOf: [{ properties: { to: address } }] } } },
      { o: { to: invalid } },
      "admin",
    ],
    ["a field of the first item", { properties: { l: { prefixItems: [address] } } }, { l: [invalid] }, "admin"],
    [
      "a field of a field in patternProperties",
      { properties: { o: { patternProperties: { "^x": address } } } },
      { o: { x1: invalid } },
      "admin",
    ],
    [
      "a field of a field in additionalProperties",
      { properties: { o: { additionalProperties: address } } },
      { o: { any: invalid } },
      "admin",
    ],
    ["a field of a conditional schema", { if: false, else: { properties: { o: address } } }, { o: invalid }, "admin"],
    [
      "a field of a schema in dependencies",
      { properties: { o: {} }, dependencies: { o: { properties: { o: address } } } },
      { o: invalid },
      "admin",
    ],
    [
      "a field beside those of patternProperties",
      { properties: { o: { patternProperties: { "^x": {} } } } },
      { o: { x1: 1, admin: 1 } },
      "admin",
    ],
    [
      "a field beside those of a conditional schema",
      { properties: { o: { if: { required: ["name"] }, else: address } } },
      { o: invalid },
      "admin",
    ],
    [
      "a field beside those of dependentSchemas",
      { properties: { o: { dependentSchemas: { id: address } } } },
      { o: invalid },
      "admin",
    ],
    [
      "a field beside those of dependencies",
      { properties: { o: { dependencies: { id: address } } } },
      { o: invalid },
      "admin",
    ],
    [
      "an argument of a tool whose arguments are described by combined schemas",
      { allOf: [{ properties: { id: text } }] },
      { id: "1", admin: 1 },
      "admin",
    ],
  ])("refuses an undescribed field: %s", (_, parameters, values, name) =>
    expect(problem(parameters, values)).toContain(`: ${name}`),
  );

  test.each([
    [
      "fields of combined schemas",
      { allOf: [{ properties: { id: text } }, { properties: { n: {} } }] },
      { id: "1", n: 2 },
    ],
    [
      "fields of combined referenced schemas",
      { $defs, properties: { o: { allOf: [reference, { $ref: "#/$defs/more" }] } } },
      { o: { id: "1", more: "2" } },
    ],
    [
      "fields that a schema in a condition does not describe",
      {
        properties: { o: { properties: { to: {} } } },
        if: { properties: { o: { properties: {} } } },
        else: false,
      },
      { o: { to: 1 } },
    ],
    [
      "any field of an argument whose schema describes no fields",
      { properties: { o: { type: "object" } } },
      { o: { any: 1 } },
    ],
    [
      "any field of an argument whose schema requires fields but describes none",
      { properties: { o: { required: ["id"], dependencies: { id: ["n"] } } } },
      { o: { id: "1", n: 2, any: 1 } },
    ],
    [
      "fields that patternProperties and conditional schemas describe",
      { properties: { o: { patternProperties: { "^x": {} }, if: { required: ["name"] }, else: address } } },
      { o: { x1: 1, id: "1" } },
    ],
    [
      "undescribed arguments if additionalProperties is true",
      { properties: { id: text }, additionalProperties: true },
      { id: "1", x: 1 },
    ],
  ])("accepts %s", (_, parameters, values) => expect(problem(parameters, values)).toBeUndefined());
});

describe("a schema with references", () => {
  const parse = (parameters: object) => parseParameters(JSON.stringify({ type: "object", ...parameters }));
  const referTwice = (reference: string) => ({ allOf: [{ $ref: reference }, { $ref: reference }] });

  test("applies the parts to which it refers", () => {
    const address = { type: "object", properties: { "a/b": { type: "integer" } } };
    const size = { $ref: "#/$defs/address/properties/a~1b" };
    const { findProblem } = parse({
      $id: "https://tools.example/order.json",
      $defs: { address },
      properties: { from: { $ref: "#/$defs/address" }, size, width: { $ref: "#/$defs/address/properties/a%2Fb" } },
    });
    expect(findProblem({ from: { "a/b": 1 }, size: 2, width: 3 })).toBeUndefined();
    expect(findProblem({ from: { "a/b": "1" } })).toContain("must be integer");
    expect(findProblem({ size: "2" })).toContain("must be integer");
  });

  test("is refused if checking it would take exponential time", () => {
    const levels = Array.from({ length: 40 }, (_, level) => [`l${level + 1}`, referTwice(`#/$defs/l${level}`)]);
    const $defs = { l0: { type: "string" }, ...Object.fromEntries(levels) };
    expect(() => parse({ $defs, properties: { x: { $ref: "#/$defs/l40" } } })).toThrow("too large when its references");
  });

  test("is refused if its enum values are too large when its references are expanded", () => {
    const $defs = { a: { enum: Array.from({ length: 100 }, () => []) } };
    const parseWith = (references: number) =>
      parse({ $defs, allOf: Array.from({ length: references }, () => ({ $ref: "#/$defs/a" })) });
    expect(() => parseWith(50)).not.toThrow();
    expect(() => parseWith(100)).toThrow("too large when its references");
  });

  test.each([
    ["itself", { $ref: "#" }],
    [
      "a part that contains the reference",
      { $defs: { a: { items: referTwice("#/$defs/a") } }, properties: { x: referTwice("#/$defs/a") } },
    ],
  ])("is refused if it refers to %s", (_, parameters) => expect(() => parse(parameters)).toThrow("recursive"));

  test.each(["$async", "$anchor", "$dynamicRef", "$recursiveRef"])("is refused with %s", (keyword) => {
    expect(() => parse({ [keyword]: keyword === "$async" ? true : "#a" })).toThrow(`must not contain ${keyword}`);
    expect(() => parse({ properties: { x: { [keyword]: "#a" } } })).toThrow(`must not contain ${keyword}`);
  });

  test.each(["https://tools.example/a.json", "b.json#/$defs/a", "#a", "", "#/$defs/none", "#/%"])(
    "is refused if it refers to %s",
    ($ref) => expect(() => parse({ properties: { x: { $ref } } })).toThrow("$ref must name a part of the schema"),
  );

  test.each([
    ["default", { $ref: "orders", $id: "7" }],
    ["const", { $ref: "orders", $id: "7" }],
    ["enum", [{ $ref: "orders", $id: "7" }]],
    ["examples", [{ $ref: "orders", $id: "7" }]],
  ])("may contain, in %s, data with fields that are named like keywords", (keyword, data) => {
    const { findProblem } = parse({ properties: { x: { [keyword]: data } } });
    expect(findProblem({ x: { $ref: "orders", $id: "7" } })).toBeUndefined();
  });

  test.each(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"])(
    "is refused if, in %s, a schema named default contains a keyword that is not permitted",
    (map) => {
      expect(() => parse({ properties: { x: { [map]: { default: { $anchor: "a" } } } } })).toThrow("must not contain");
    },
  );

  test("is refused if it refers to data that is not a permitted schema", () => {
    const properties = { x: { default: { $anchor: "a" } }, y: { $ref: "#/properties/x/default" } };
    expect(() => parse({ properties })).toThrow("must not contain $anchor");
  });

  test("may describe an argument whose name is a keyword", () => {
    const { findProblem } = parse({ properties: { $ref: { type: "string" }, $id: { type: "string" } } });
    expect(findProblem({ $ref: "x", $id: "y" })).toBeUndefined();
  });
});

describe("uniqueItems and patterns", () => {
  const parse = (x: object) => parseParameters(JSON.stringify({ type: "object", properties: { x } }));

  test("checks uniqueItems in linear time", () => {
    const { findProblem } = parse({ allOf: Array.from({ length: 50 }, () => ({ uniqueItems: true })) });
    const items = Array.from({ length: 2_700 }, (_, index) => [index]);
    const startedAt = performance.now();
    expect(findProblem({ x: items })).toBeUndefined();
    expect(findProblem({ x: [...items, [0]] })).toContain("must NOT have duplicate items");
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test.each([
    [true, [1, "1", true, null, [1], { a: 1 }, { a: "1" }], undefined],
    [
      true,
      [
        { a: 1, b: [{ c: 1, d: 2 }] },
        { b: [{ d: 2, c: 1 }], a: 1 },
      ],
      "duplicate",
    ],
    [false, [1, 1], undefined],
  ])("with uniqueItems %j and the items %j, findProblem reports %j", (uniqueItems, x, problem) => {
    if (problem === undefined) expect(parse({ uniqueItems }).findProblem({ x })).toBeUndefined();
    else expect(parse({ uniqueItems }).findProblem({ x })).toContain(problem);
  });

  // The llm-proxy parses the parameters of each of a bot's tools for every reply. Compiling Ajv's meta-schema each time took 14 ms per tool.
  test("parses the parameters of 64 tools in less than 500 ms of CPU time", () => {
    parse({ properties: { x: { type: "string" } } });
    const start = process.cpuUsage();
    for (let tool = 0; tool < 64; tool++) parse({ properties: { [`x${tool}`]: { type: "string" } } });
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1_000).toBeLessThan(500);
  });

  test("refuses a schema whose patterns together are too large", () => {
    const patterns = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ pattern: `^(a|b){${index},300}` }));
    expect(() => parse({ allOf: patterns(1) })).not.toThrow();
    expect(() => parse({ allOf: patterns(20) })).toThrow("patterns are too large");
    const uuid = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";
    expect(() => parse({ allOf: Array.from({ length: 20 }, () => ({ pattern: uuid })) })).not.toThrow();
  });
});
