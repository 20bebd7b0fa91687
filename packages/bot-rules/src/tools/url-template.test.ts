import { cpuMsOf } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { expandUrl } from "./url-template.ts";

const TEMPLATE = "https://api.example.com/orders/{order_id}?lang={lang}";

describe("expandUrl", () => {
  const expand = (values: Record<string, unknown>, template = TEMPLATE) => {
    const expanded = expandUrl(template, values);
    return expanded && { url: expanded.url.href, rest: expanded.rest };
  };

  test("inserts the arguments that have a placeholder, and returns the rest", () => {
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
    ["an empty text", { order_id: "", lang: "de" }],
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

  test("refuses arguments that are harmless alone but change the path together or with the template's text", () => {
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

  test("refuses an argument of 8,000 nested encodings in less than 100 ms of CPU time", () => {
    const expandNested = () => expect(expand({ order_id: `%${"25".repeat(8_000)}2f`, lang: "de" })).toBeUndefined();
    expect(cpuMsOf(expandNested)).toBeLessThan(100);
  });
});
