import { describe, expect, test } from "vitest";
import { requireHttpTool, requireValidNames } from "./definition.ts";
import { requireWebUrl } from "./url-template.ts";

const schema = (properties: object, required: string[] = Object.keys(properties)) =>
  JSON.stringify({ type: "object", properties, required, additionalProperties: false });
const tool = {
  method: "GET",
  url: "https://api.example.com/orders/{order_id}?lang={lang}",
  parameters: schema({ order_id: { type: "string" }, lang: { type: "string" } }),
};
/** Returns a schema of `length` characters for the tool's parameters. Its description contains emoji. */
function schemaOfLength(length: number): string {
  const { properties, required } = JSON.parse(tool.parameters) as { properties: object; required: string[] };
  const serialize = (description: string) => JSON.stringify({ type: "object", properties, required, description });
  const description = "📦".repeat(100);
  return serialize(description + "x".repeat(length - [...serialize(description)].length));
}

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

  // An emoji is one character, but two UTF-16 code units.
  test("with a schema of 16,384 characters, some of them emoji", () =>
    expect(() => requireHttpTool({ ...tool, parameters: schemaOfLength(16_384) })).not.toThrow());
});

test.each(["http://127.0.0.1:8080/mcp", "https://mcp.example.com/mcp"])("accepts an MCP server at %s", (url) =>
  expect(() => requireWebUrl(url)).not.toThrow(),
);

describe("refuses a tool", () => {
  test.each([
    ["with an unsupported method", { method: "TRACE" }, "method"],
    ["with a relative URL", { url: "orders/{order_id}" }, "url"],
    ["with an unsupported scheme", { url: "ftp://a.example/{order_id}" }, "http://"],
    ["whose arguments choose the host", { url: "https://{order_id}.example.com/{lang}" }, "path or query only"],
    ["whose arguments choose the port", { url: "https://a.example:{order_id}/{lang}" }, "path or query only"],
    ["with a user name and a password in its URL", { url: "https://u:p@a.example/{order_id}/{lang}" }, "user name"],
    ["with an unclosed brace", { url: "https://a.example/{order_id" }, "braces"],
    ["with a URL that is not in normal form", { url: "https://A.example/{order_id}/{lang}" }, "https://a.example/"],
    ["with .. in its path", { url: "https://a.example/x/../{order_id}/{lang}" }, "written in full"],
    ["with a fragment in its URL", { url: "https://a.example/{order_id}/{lang}#top" }, "must not contain a #"],
    ["with an empty fragment in its URL", { url: "https://a.example/{order_id}/{lang}#" }, "must not contain a #"],
    [
      "whose schema makes an argument of the URL optional",
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
    ["with a schema of 16,385 characters", { parameters: schemaOfLength(16_385) }, "at most 16384 characters"],
  ])("%s", (_, fields, message) => expect(() => requireHttpTool({ ...tool, ...fields })).toThrow(message));

  test.each(["", "1a", "a b", "a__b", "a.b"])("with the name %j", (name) =>
    expect(() => requireValidNames({ name, secret: "" })).toThrow("name must have"),
  );
});
