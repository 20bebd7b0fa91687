import { expect, test } from "vitest";
import { tokenize } from "./tokenize.ts";

test.each([
  ["What's the keepAliveTimeout?", ["what's", "the", "keepalivetimeout", "keep", "alive", "timeout"]],
  ["request.body", ["request.body", "request", "body"]],
  ["HTTPServer", ["httpserver", "http", "server"]],
  ["X-Forwarded-For", ["x", "forwarded", "for"]],
  ["__proto__", ["proto"]],
  ["5.12 and 1,000", ["5.12", "and", "1,000"]],
  ["Ｆｕｌｌ ｗｉｄｔｈ", ["full", "width"]],
  ["?!… \u200b", []],
])("tokenize splits %j into %j", (text, words) => {
  expect(tokenize(text)).toEqual(words);
});

test("tokenize leaves out a word of more than 100 characters", () => {
  expect(tokenize("x".repeat(101))).toEqual([]);
});
