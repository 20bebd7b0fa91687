import { cpuMsOf } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { parseParameters, readServerParameters } from "./parameters.ts";

describe("findProblem", () => {
  const findProblem = parseParameters(
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
  ).compile();

  test.each([
    ["accepts arguments that match the schema", { id: "ABC", count: 3 }, undefined],
    ["refuses an argument of another type", { id: "ABC", count: "3" }, "must be integer"],
    ["refuses a missing argument", { id: "ABC" }, "must have required property 'count'"],
    ["refuses an unknown argument", { id: "ABC", count: 1, more: 1 }, "must NOT have additional properties"],
    ["refuses an argument that does not match its pattern", { id: "ABC", count: 1, code: "x" }, "must match pattern"],
    [
      "refuses, in less than 500 ms of CPU time, an argument that a backtracking engine would match for very long",
      { id: `A${"x".repeat(5_000)}y`, count: 1 },
      "must match pattern",
    ],
  ])("%s", (_, values, problem) => {
    const cpuMs = cpuMsOf(() => {
      if (problem === undefined) expect(findProblem(values)).toBeUndefined();
      else expect(findProblem(values)).toContain(problem);
    });
    expect(cpuMs).toBeLessThan(500);
  });
});

describe("the check for fields that the schema does not describe", () => {
  const text = { type: "string" };
  const problem = (parameters: object, values: unknown) =>
    parseParameters(JSON.stringify({ type: "object", ...parameters })).compile()(values);
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
  const parse = (parameters: object) => parseParameters(JSON.stringify({ type: "object", ...parameters })).compile();
  const referTwice = (reference: string) => ({ allOf: [{ $ref: reference }, { $ref: reference }] });

  test("applies the parts to which it refers", () => {
    const address = { type: "object", properties: { "a/b": { type: "integer" } } };
    const size = { $ref: "#/$defs/address/properties/a~1b" };
    const findProblem = parse({
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
    const $defs = { a: { enum: Array.from({ length: 20 }, () => []) } };
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
    const findProblem = parse({ properties: { x: { [keyword]: data } } });
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
    const findProblem = parse({ properties: { $ref: { type: "string" }, $id: { type: "string" } } });
    expect(findProblem({ $ref: "x", $id: "y" })).toBeUndefined();
  });
});

describe("uniqueItems and patterns", () => {
  const parse = (x: object) => parseParameters(JSON.stringify({ type: "object", properties: { x } })).compile();

  test("checks uniqueItems in linear time", () => {
    const findProblem = parse({ allOf: Array.from({ length: 50 }, () => ({ uniqueItems: true })) });
    const items = Array.from({ length: 2_700 }, (_, index) => [index]);
    const cpuMs = cpuMsOf(() => {
      expect(findProblem({ x: items })).toBeUndefined();
      expect(findProblem({ x: [...items, [0]] })).toContain("must NOT have duplicate items");
    });
    expect(cpuMs).toBeLessThan(1_000);
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
    if (problem === undefined) expect(parse({ uniqueItems })({ x })).toBeUndefined();
    else expect(parse({ uniqueItems })({ x })).toContain(problem);
  });

  // The llm-proxy compiles the parameters of a tool for each reply that calls it. Compiling Ajv's meta-schema each time took 14 ms per tool.
  test("compiles the parameters of 64 tools in less than 500 ms of CPU time", () => {
    parse({ properties: { x: { type: "string" } } });
    const cpuMs = cpuMsOf(() => {
      for (let tool = 0; tool < 64; tool++) parse({ properties: { [`x${tool}`]: { type: "string" } } });
    });
    expect(cpuMs).toBeLessThan(500);
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

describe("the parameters of an MCP server's tool", () => {
  const check = (inputSchema: unknown, values: unknown) => readServerParameters(inputSchema).compile()(values);
  const nest = (levels: number) => {
    let schema: object = {};
    for (let level = 0; level < levels; level++) schema = { type: "object", properties: { x: schema } };
    return schema;
  };

  test.each([undefined, null, true, {}, { type: "object" }, { type: "object", required: null, properties: null }])(
    "may be %j",
    (inputSchema) => {
      const { modelSchema, compile } = readServerParameters(inputSchema);
      expect(modelSchema).toEqual({ type: "object", properties: {}, required: [] });
      expect(compile()({ any: 1 })).toBeUndefined();
    },
  );

  test("are checked by the server's own schema, which may permit other fields", () => {
    const schema = { type: "object", properties: { id: { type: "string", pattern: "^A" } }, required: ["id"] };
    expect(check(schema, { id: "A7", more: 1 })).toBeUndefined();
    expect(check(schema, {})).toContain("required property 'id'");
    expect(check(schema, { id: 7 })).toContain("arguments/id must be string");
    expect(check(schema, { id: "7" })).toContain("arguments/id must match pattern");
    expect(check({ ...schema, additionalProperties: false }, { id: "A", more: 1 })).toContain(": more");
  });

  test("may be recursive: the first levels are checked", () => {
    const node = {
      type: "object",
      properties: { name: { type: "string" }, children: { items: { $ref: "#/$defs/node" } } },
    };
    const schema = { type: "object", $defs: { node }, properties: { root: { $ref: "#/$defs/node" } } };
    expect(check(schema, { root: { children: [{ name: "a", children: [{ children: [{}] }] }] } })).toBeUndefined();
    expect(check(schema, { root: { children: [{ name: 1 }] } })).toContain("must be string");
    expect(check({ type: "object", properties: { x: { $ref: "#" } } }, { x: { x: { x: {} } } })).toBeUndefined();
    const doubled = {
      $defs: { a: { anyOf: [{ items: { $ref: "#/$defs/a" } }, { properties: { b: { $ref: "#/$defs/a" } } }] } },
    };
    expect(check({ type: "object", ...doubled, properties: { x: { $ref: "#/$defs/a" } } }, { x: [] })).toBeUndefined();
  });

  test.each<[string, object, unknown, unknown]>([
    ["tuples of draft 7", { items: [{ type: "string" }, { type: "number" }] }, ["a", 1], ["a", "b"]],
    ["exclusive bounds of draft 4", { type: "number", minimum: 1, exclusiveMinimum: true }, 2, 1],
    ["nullable of OpenAPI", { type: "string", nullable: true }, null, 1],
    ["a pattern that RE2 does not support", { type: "string", pattern: "(?=a)" }, "b", 1],
    ["anchors", { $anchor: "x", $id: "https://a.example/x", type: "string" }, "b", 1],
    [
      "patterns of names that RE2 does not support",
      { patternProperties: { "(?=a)": false }, type: "object" },
      { b: 1 },
      1,
    ],
  ])("may contain %s", (_, x, valid, invalid) => {
    expect(check({ type: "object", properties: { x } }, { x: valid })).toBeUndefined();
    expect(check({ type: "object", properties: { x } }, { x: invalid })).toContain("arguments/x");
  });

  test.each<[string, unknown, string]>([
    ["nested 30,000 levels deep", nest(30_000), "levels"],
    ["nested 65 levels deep", nest(33), "levels"],
    ["with 30,000 levels in a definition", { type: "object", $defs: { a: nest(30_000) } }, "levels"],
    ["with 30,000 levels in an enum", { type: "object", properties: { x: { enum: [nest(30_000)] } } }, "levels"],
    ["above the limit", { type: "object", description: "x".repeat(16_385) }, "16384 characters"],
    ["that is a list", [], "JSON object"],
    ["that is false", false, "JSON object"],
    ["that is a text", "object", "JSON object"],
    ["of another type", { type: "array" }, "must be an object"],
    ["with an unknown type", { type: "object", properties: { x: { type: "int" } } }, "must be equal to one of"],
    ["with properties that are not an object", { type: "object", properties: 3 }, "must be object"],
    ["with an unknown reference", { type: "object", properties: { x: { $ref: "#/$defs/y" } } }, "$ref must name"],
    ["with a reference to another document", { type: "object", properties: { x: { $ref: "https://a/b" } } }, "$ref"],
    ["with a required field of a name that providers refuse", { type: "object", required: ["a b"] }, '"a b"'],
  ])("are refused for a schema %s", (_, inputSchema, reason) => {
    expect(() => readServerParameters(inputSchema)).toThrow(reason);
  });

  test("are read in less than a second of CPU time, also if their references expand exponentially", () => {
    const levels = Array.from({ length: 18 }, (_, level) => [
      `l${level + 1}`,
      { properties: { a: { $ref: `#/$defs/l${level}` }, b: { $ref: `#/$defs/l${level}` } } },
    ]);
    const $defs = { l0: { type: "string" }, ...Object.fromEntries(levels) };
    const start = process.cpuUsage();
    expect(() => readServerParameters({ type: "object", $defs, properties: { x: { $ref: "#/$defs/l18" } } })).toThrow(
      "too large",
    );
    const nestAlternatives = (level: number): object =>
      level === 0
        ? {}
        : {
            type: "object",
            properties: { [`p${level}`]: {} },
            anyOf: [1, 2].map(() => ({ properties: { x: nestAlternatives(level - 1) } })),
          };
    try {
      readServerParameters({ type: "object", properties: { x: nestAlternatives(7) } });
    } catch (error) {
      expect(String(error)).toContain("SchemaError");
    }
    const { user, system } = process.cpuUsage(start);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});

describe("patterns that would take seconds to compile", () => {
  const LONG: [string, string][] = [
    ["repetitions", "\\pL{1000}".repeat(380)],
    ["case-insensitive classes", `(?i)${"[\\x{42}-\\x{1e942}]".repeat(150)}`],
  ];

  test.each(LONG)("of %s are refused in an author's schema", (_, pattern) => {
    const { compile } = parseParameters(JSON.stringify({ type: "object", properties: { id: { pattern } } }));
    expect(cpuMsOf(() => expect(compile).toThrow("its patterns are too large"))).toBeLessThan(300);
  });

  test.each(LONG)("of %s accept any text in an MCP server's schema, and the types are checked", (_, pattern) => {
    const texts = Array.from({ length: 4 }, (__, index) => [`t${index}`, { type: "string", pattern: index + pattern }]);
    let problems: unknown[] = [];
    const cpuMs = cpuMsOf(() => {
      const findProblem = readServerParameters({ type: "object", properties: Object.fromEntries(texts) }).compile();
      problems = [findProblem({ t0: "x" }), findProblem({ t0: 1 })];
    });
    expect(problems).toEqual([undefined, "arguments/t0 must be string"]);
    expect(cpuMs).toBeLessThan(300);
  });

  test("of names are not compiled for each reference to their definition", () => {
    const names = Array.from({ length: 30 }, (_, index) => [`^(?i)[\\x{42}-\\x{1e942}]{9}${index}$`, true]);
    const $defs = { named: { patternProperties: Object.fromEntries(names) } };
    const properties = Object.fromEntries(
      Array.from({ length: 99 }, (_, index) => [`p${index}`, { $ref: "#/$defs/named" }]),
    );
    expect(cpuMsOf(() => void readServerParameters({ type: "object", $defs, properties }))).toBeLessThan(500);
  });
});
