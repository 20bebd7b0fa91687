import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requireReplyPattern } from "./acceptance.ts";
import { normalise } from "./normalise.ts";
import { compilePattern } from "./pattern.ts";
import { PatternSet } from "./pattern-set.ts";
import { ReplyFilter } from "./reply-filter.ts";

/** Creates a filter that matches in this thread. Adds the length of each searched text to `searchedLengths`. */
function filterOf(patterns: readonly string[], searchedLengths: number[] = []): ReplyFilter {
  const set = new PatternSet(patterns);
  return new ReplyFilter(async (text, searchFrom, isTextComplete) => {
    searchedLengths.push(text.length);
    return { index: set.findFirstMatch(text, searchFrom, isTextComplete), maxMatchLength: set.maxMatchLength };
  });
}

function isReplyPattern(pattern: string): boolean {
  try {
    requireReplyPattern(compilePattern(pattern));
    return true;
  } catch {
    return false;
  }
}

async function filterReply(patterns: readonly string[], parts: readonly string[]) {
  const filter = filterOf(patterns);
  let released = "";
  for (const part of parts) released += await filter.push(part);
  released += await filter.end();
  return {
    released,
    matched: filter.matchedPatternIndex === undefined ? undefined : patterns[filter.matchedPatternIndex],
  };
}

describe("ReplyFilter", () => {
  test.each([
    ["no word matches", ["secret"], ["no ", "such ", "word"], "no such word", undefined],
    ["a word matches", ["secret"], ["the sec", "ret is out"], "the ", "secret"],
    [
      "the pattern requires word boundaries and the word is only part of a longer word",
      ["\\bidiot\\b"],
      ["an idiot", "ic plan"],
      "an idiotic plan",
      undefined,
    ],
    [
      "the pattern requires word boundaries and the word has them",
      ["\\bidiot\\b"],
      ["an idiot", ", sir"],
      "an ",
      "\\bidiot\\b",
    ],
    ["a match is at the end of the reply", ["idiot$"], ["you idi", "ot"], "you ", "idiot$"],
    [
      "a match at the end of a part is not at the end of the reply",
      ["idiot$"],
      ["you idiot", "!"],
      "you idiot!",
      undefined,
    ],
    ["an anchored pattern matches at the beginning", ["^no"], ["n", "o way"], "", "^no"],
    ["an anchored pattern occurs later", ["^no"], ["say ", "no"], "say no", undefined],
    ["case and width differ from the pattern", ["secret"], ["the ＳＥＣ", "Ｒet"], "the ", "secret"],
    ["an invisible character is inside a match", ["secret"], ["sec\u200b", "\u00adret"], "", "secret"],
    ["an accent is a separate character", ["café"], ["cafe", "\u0301 noir"], "", "café"],
    [
      "an accent in the next part changes a letter, so that the pattern does not match",
      ["cafe"],
      ["cafe", "\u0301 noir"],
      "cafe\u0301 noir",
      undefined,
    ],
    ["one character normalises to several", ["\\.\\.\\."], ["wait", "…", " what"], "wait", "\\.\\.\\."],
    [
      "the patterns' longest possible matches differ in length",
      ["x", "a{1,30}b"],
      ["aaaaaaaaaaaaaaaaaaaa", "b"],
      "",
      "a{1,30}b",
    ],
    ["characters outside the basic plane match", ["👋{3}"], ["hi 👋", "👋", "👋!"], "hi ", "👋{3}"],
  ])(
    "never releases a match, and releases a reply without a match completely, when %s",
    async (_, patterns, parts, expectedText, expectedPattern) => {
      const { released, matched } = await filterReply(patterns, parts);
      expect(matched).toBe(expectedPattern);
      if (expectedPattern === undefined) expect(released).toBe(expectedText);
      // Before a match, the filter may hold back more than necessary, never less.
      else expect(expectedText.startsWith(released), released).toBe(true);
    },
  );

  test("holds back the length of the longest possible match plus one character, and no more", async () => {
    const filter = filterOf(["\\bfoo\\b", "barbar"]);
    const text = "a reply that goes on and on without any of it";
    let released = "";
    const maxMatchLength = "barbar".length;
    for (const [index, character] of [...text].entries()) {
      released += await filter.push(character);
      const pushed = index + 1;
      // The filter holds back one more character, because an accent could follow the last character.
      expect(released).toBe(text.slice(0, Math.max(0, pushed - 1 - maxMatchLength)));
    }
    expect(released + (await filter.end())).toBe(text);
  });

  test("releases nothing after a match", async () => {
    const filter = filterOf(["secret"]);
    expect(await filter.push("the secret is ")).toBe("");
    expect(filter.matchedPatternIndex).toBe(0);
    expect((await filter.push("quite harmless, really")) + (await filter.end())).toBe("");
  });

  test("matches one large part in slices and releases it completely", async () => {
    const searchedLengths: number[] = [];
    const filter = filterOf(["secret"], searchedLengths);
    const text = "👋 a".repeat(10_000);
    expect((await filter.push(text)) + (await filter.end())).toBe(text);
    expect(searchedLengths.length).toBeGreaterThan(9);
    expect(Math.max(...searchedLengths)).toBeLessThan(4_100);
  });
});

const ALPHABET = [
  "a",
  "b",
  "A",
  " ",
  "\n",
  ".",
  "é",
  "e\u0301",
  "ﬁ",
  "ｂ",
  "…",
  "\u200b",
  "\u0301",
  "👋",
  "한",
  "\u1112\u1161",
  "1",
  "Ⅳ",
  "ß",
  "к",
  "Ё",
  "İ",
  "i\u0307",
  "٣",
  "𝒂",
  "_",
];
const RANDOM_REPLIES = process.env.PARLEY_TEST_FULL === "1" ? 20_000 : 500;
const LETTERS = ["a", "b", "é", "f", "i", "👋", "한", "v", " ", "\\.", "к", "ё", "ß", "\\d", "s"];

const text = fc.array(fc.constantFrom(...ALPHABET), { maxLength: 40 }).map((parts) => parts.join(""));
/** Expressions whose matches have a limited length: letters, classes, assertions, alternatives and repetitions, also nested. */
const { expression } = fc.letrec<{ expression: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    fc.constantFrom(...LETTERS),
    fc.constantFrom("[ab]", "[^a]", ".", "\\b", "\\B", "^", "$", "(?m:^)", "(?m:$)", "\\w", "\\pL"),
    fc.tuple(tie("expression"), tie("expression")).map(([left, right]) => `(?:${left}|${right})`),
    fc
      .tuple(tie("atom"), fc.constantFrom("?", "{2}", "{1,3}", "{0,2}?", "??"))
      .map(([atom, count]) => `(?:${atom})${count}`),
  ),
  expression: fc.array(tie("atom"), { minLength: 1, maxLength: 4 }).map((atoms) => atoms.join("")),
}));

/** The parts of a text that is cut at random positions between characters. */
const textParts = fc.tuple(text, fc.array(fc.nat(40), { maxLength: 12 })).map(([complete, cuts]) => {
  const characters = [...complete];
  const positions = [
    0,
    ...cuts.map((cut) => Math.min(cut, characters.length)).toSorted((a, b) => a - b),
    characters.length,
  ];
  return positions.slice(1).map((position, index) => characters.slice(positions[index], position).join(""));
});

test("ReplyFilter never releases a match, and releases a reply without a match completely, for random patterns and parts", async () => {
  let blocked = 0;
  let passed = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(expression, { minLength: 1, maxLength: 3 }), textParts, async (expressions, parts) => {
      const patterns = expressions.filter(isReplyPattern);
      const reply = parts.join("");
      const normalisedReply = normalise(reply);
      const starts = patterns.flatMap((pattern) => compilePattern(pattern).find(normalisedReply, 0)?.start ?? []);
      const { released, matched } = await filterReply(patterns, parts);
      expect(reply.startsWith(released)).toBe(true);
      if (starts.length === 0) {
        passed++;
        expect(released).toBe(reply);
        expect(matched).toBeUndefined();
      } else {
        blocked++;
        expect(matched).toBeDefined();
        expect(normalise(released).length).toBeLessThanOrEqual(Math.min(...starts));
      }
    }),
    { numRuns: RANDOM_REPLIES },
  );
  expect(Math.min(blocked, passed)).toBeGreaterThan(RANDOM_REPLIES / 9);
}, 60_000);
