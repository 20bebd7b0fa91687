import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requireAcceptable } from "./acceptance.ts";
import { normalise } from "./normalise.ts";
import { PatternSet } from "./pattern-set.ts";
import { compileWords, normaliseWord, parseWords } from "./words.ts";

const matches = (words: readonly string[], text: string) =>
  new PatternSet([compileWords(words)]).findFirstMatch(normalise(text)) === 0;

test.each([
  ["refund", "I want a REFUND!"],
  ["Refund", "refund"],
  ["cafe", "Das Café ist zu"],
  ["café", "the cafe"],
  ["CAFÉ", "café"],
  ["resume", "my re\u0301sume\u0301"],
  ["lodz", "Łódź"],
  ["smorrebrod", "smørrebrød"],
  ["straße", "Strasse"],
  ["strasse", "STRAẞE"],
  ["istanbul", "İSTANBUL"],
  ["money back", "my money\n back"],
  ["credit card", "credit-card"],
  ["50%", "only 50% today"],
  ["c++", "in c++ or"],
  ["елка", "Ёлка"],
  ["φως", "Φώς"],
  ["казино", "Казино!"],
  ["返金", "商品の返金をお願いします"],
  ["🤬", "you 🤬!"],
])("the word %j matches in %j", (word, text) => {
  expect(matches([normaliseWord(word)], text)).toBe(true);
});

test.each([
  ["refund", "refunds"],
  ["refund", "nonrefundable"],
  ["cat", "category"],
  ["money back", "moneyback"],
  ["money back", "money and back"],
  ["казино", "казиношный"],
  ["мои", "мой"],
  ["a.b", "axb"],
])("the word %j does not match in %j", (word, text) => {
  expect(matches([word], text)).toBe(false);
});

test.each([
  [["refund"]],
  [["Café", "money back", "C++", "50%", "a|b", "[x]", "\\b", "(?:y)", "^$"]],
  [["\\", "!"]],
  [["\\|", "|"]],
  [["返金", "refund", "ขอเงินคืน"]],
  [["straße", "İstanbul", "🤬"]],
])("the words %j come back from their pattern", (words) => {
  expect(parseWords(compileWords(words))).toEqual(words);
});

test("any words come back from their pattern, and each matches itself", () => {
  const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).map(normaliseWord);
  const words = fc.array(
    word.filter((each) => each !== ""),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(words, (list) => {
      const pattern = compileWords(list);
      expect(parseWords(pattern)).toEqual(list);
      for (const each of list) expect(matches(list, each)).toBe(true);
    }),
  );
});

test.each(["refund", "\\brefund\\b", "(?:refund)", "(?:)", "(?:\\ba|b)", "(?:a.b)", "(?:x{2})", "(?:a|)"])(
  "the pattern %j is no list of words",
  (pattern) => {
    expect(parseWords(pattern)).toBeUndefined();
  },
);

describe("a list of words is accepted", () => {
  test.each([
    ["for replies", ["refund", "money back"]],
    ["with words of scripts without spaces", ["返金", "refund", "c++"]],
    ["of 20 words", Array.from({ length: 20 }, (_, index) => `wording${index}`)],
  ])("%s", (_, words) => {
    const candidate = { pattern: compileWords(words), isForReplies: true, otherPatterns: [] };
    expect(() => requireAcceptable(candidate)).not.toThrow();
  });
});
