import { describe, expect, test } from "vitest";
import { requireHttpTool, requireMcpServer, requireNames } from "./definition.ts";
import { parseParameters } from "./parameters.ts";
import { expandUrl } from "./url-template.ts";

const schema = (properties: object, required: string[] = Object.keys(properties)) =>
  JSON.stringify({ type: "object", properties, required, additionalProperties: false });
const tool = {
  description: "Finds an order.",
  method: "GET",
  url: "https://api.example.com/orders/{order_id}?lang={lang}",
  parameters: schema({ order_id: { type: "string" }, lang: { type: "string" } }),
};

describe("accepts a tool", () => {
  test.each([
    ["with placeholders in its path and query", {}],
    ["without placeholders", { url: "https://api.example.com/orders", method: "POST", parameters: schema({ n: {} }) }],
    [
      "with a schema of an older draft",
      {
        url: "https://a.example/",
        parameters: '{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}',
      },
    ],
  ])("%s", (_, fields) => expect(() => requireHttpTool({ ...tool, ...fields })).not.toThrow());

  test.each([
    ["http://127.0.0.1:8080/mcp", ["find"]],
    ["https://mcp.example.com/mcp", []],
  ])("from an MCP server at %s", (url, only) => expect(() => requireMcpServer({ url, only })).not.toThrow());
});

describe("refuses a tool", () => {
  test.each([
    ["without a description", { description: " " }, "description"],
    ["with an unsupported method", { method: "TRACE" }, "method"],
    ["with an incomplete URL", { url: "orders/{order_id}" }, "url"],
    ["with an unsupported scheme", { url: "ftp://a.example/{order_id}" }, "http://"],
    ["whose arguments choose the host", { url: "https://{order_id}.example.com/{lang}" }, "path or query only"],
    ["whose arguments choose the port", { url: "https://a.example:{order_id}/{lang}" }, "path or query only"],
    ["with a password", { url: "https://u:p@a.example/{order_id}/{lang}" }, "user name"],
    ["with an unclosed brace", { url: "https://a.example/{order_id" }, "braces"],
    ["with a URL that is not in normal form", { url: "https://A.example/{order_id}/{lang}" }, "https://a.example/"],
    ["with .. in its path", { url: "https://a.example/x/../{order_id}/{lang}" }, "written in full"],
    [
      "that does not require a parameter of its URL",
      { parameters: schema({ order_id: {}, lang: {} }, ["lang"]) },
      "order_id",
    ],
    ["whose parameters are not JSON", { parameters: "{" }, "JSON"],
    ["whose parameters are not an object schema", { parameters: '{"type":"string"}' }, '"type": "object"'],
    ["whose parameters are not a JSON Schema", { parameters: '{"type":"object","properties":3}' }, "not a JSON Schema"],
    [
      "whose schema refers to another document",
      { parameters: '{"type":"object","$ref":"https://a.example/s"}' },
      "not a JSON Schema",
    ],
    [
      "whose schema has a pattern that RE2 does not support",
      { parameters: schema({ order_id: { pattern: "(?=a)" }, lang: {} }) },
      "not a JSON Schema",
    ],
    [
      "with a schema that is too long",
      { parameters: JSON.stringify({ type: "object", x: "x".repeat(16_384) }) },
      "at most",
    ],
  ])("%s", (_, fields, message) => expect(() => requireHttpTool({ ...tool, ...fields })).toThrow(message));

  test.each(["", "1a", "a b", "a__b", "a.b", "x".repeat(33)])("with the name %j", (name) =>
    expect(() => requireNames({ name, secret: "" })).toThrow("name must be"),
  );
});

describe("findProblem", () => {
  const { findProblem } = parseParameters(
    schema(
      {
        id: { type: "string", pattern: "^[A-Z]+(x+x+)*$" },
        code: { pattern: "^\\d+$" },
        count: { type: "integer", maximum: 9 },
      },
      ["id", "count"],
    ),
  );

  test.each([
    ["accepts arguments that match the schema", { id: "ABC", count: 3 }, undefined],
    ["refuses an argument of another type", { id: "ABC", count: "3" }, "must be integer"],
    ["refuses a missing argument", { id: "ABC" }, "must have required property 'count'"],
    ["refuses an unknown argument", { id: "ABC", count: 1, more: 1 }, "must NOT have additional properties"],
    ["refuses an argument that does not match its pattern", { id: "ABC", count: 1, code: "x" }, "must match pattern"],
    [
      "refuses an argument within 500 ms that makes a backtracking engine take very long",
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

describe("a schema without a rule for other fields", () => {
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

describe("expandUrl", () => {
  const expand = (values: Record<string, unknown>, template = tool.url) => {
    const expanded = expandUrl(template, values);
    return expanded && { url: expanded.url.href, rest: expanded.rest };
  };

  test("inserts the arguments of placeholders and returns the others", () => {
    expect(expand({ order_id: "A 1ü?", lang: "de", page: 2 })).toEqual({
      url: "https://api.example.com/orders/A%201%C3%BC%3F?lang=de",
      rest: { page: 2 },
    });
    expect(expand({ order_id: 7, lang: true })?.url).toBe("https://api.example.com/orders/7?lang=true");
    expect(expand({ order_id: "it's (100 %)", lang: "it's" })?.url).toBe(
      "https://api.example.com/orders/it%27s%20(100%20%25)?lang=it%27s",
    );
  });

  test.each([
    ["two dots", { order_id: "..", lang: "de" }],
    ["one dot", { order_id: ".", lang: "de" }],
    ["nothing", { order_id: "", lang: "de" }],
    ["an object", { order_id: {}, lang: "de" }],
    ["a missing argument", { lang: "de" }],
    ["an inherited property", { lang: "de", __proto__: { order_id: "x" } }],
  ])("refuses %s", (_, values) => expect(expand(values)).toBeUndefined());

  test.each([
    "a/b",
    "../admin",
    "a\\b",
    "%2e%2e%2fadmin",
    "%252e%252e%252fadmin",
    "%25252525252fadmin",
    "%2%35%32f",
    "..%5cadmin",
    "%u002fadmin",
    "\uFF0Fadmin",
    "\uFF3Cadmin",
    "%EF%BC%8Fadmin",
    "\uFF052fadmin",
    "%c0%afadmin",
    "%2e%2e",
    "\uFF0E\uFF0E",
    "\u2025",
    "..;",
    "..;v=1",
    ";v=1",
    "..%3b",
    ".. ",
    "...",
    " ",
    "a\0",
    "a%00",
    "a\r\n",
    "a\u0085",
    "\uD800",
  ])("refuses %j in the path and accepts it in the query", (value) => {
    expect(expand({ order_id: value, lang: "de" })).toBeUndefined();
    const url = expand({ order_id: "7", lang: value })?.url ?? "";
    expect(new URL(url).searchParams.get("lang")).toBe(value.toWellFormed());
  });

  test.each([
    "A.7",
    "..a",
    ".env",
    "A;7",
    "100 %",
    "100 % für",
    "A%207",
    "½ inch",
    "ﬁ",
    "日本",
    "a?b#c",
    "x",
    "~me@a:b",
  ])("accepts %j in the path", (value) => {
    const { pathname } = new URL(expand({ order_id: value, lang: "de" })?.url ?? "");
    expect(decodeURIComponent(pathname)).toBe(`/orders/${value}`);
  });

  test("refuses arguments that change the path only in combination with each other or with the template", () => {
    const template = "https://a.example/x/{a}{b}/y";
    expect(expand({ a: ".", b: "." }, template)).toBeUndefined();
    expect(expand({ a: "%2e", b: "." }, template)).toBeUndefined();
    expect(expand({ a: "%2", b: "f" }, template)).toBeUndefined();
    expect(expand({ a: "f" }, "https://a.example/x%2{a}/y")).toBeUndefined();
    expect(expand({ a: ".", b: "a" }, template)?.url).toBe("https://a.example/x/.a/y");
  });

  test("keeps an encoded slash of the template", () => {
    const template = "https://a.example/projects/shop%2F{a}/orders";
    expect(expand({ a: "web" }, template)?.url).toBe("https://a.example/projects/shop%2Fweb/orders");
    expect(expand({ a: ".." }, template)).toBeUndefined();
  });

  test("refuses an argument of 8,000 nested encodings within 100 ms", () => {
    const started = performance.now();
    expect(expand({ order_id: `%${"25".repeat(8_000)}2f`, lang: "de" })).toBeUndefined();
    expect(performance.now() - started).toBeLessThan(100);
  });
});
