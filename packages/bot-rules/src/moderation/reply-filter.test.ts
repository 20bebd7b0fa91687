import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { requireReplyPattern } from "./acceptance.ts";
import { normalise } from "./normalise.ts";
import { compilePattern } from "./pattern.ts";
import { PatternSet } from "./pattern-set.ts";
import { ReplyFilter } from "./reply-filter.ts";

/** Looks for matches in this thread. */
function filterOf(patterns: readonly string[]): ReplyFilter {
  const set = new PatternSet(patterns);
  return new ReplyFilter(async (text, from, isWhole) => ({
    hit: set.firstMatch(text, from, isWhole),
    longest: set.longest,
  }));
}

function isReplyPattern(pattern: string): boolean {
  try {
    requireReplyPattern(compilePattern(pattern));
    return true;
  } catch {
    return false;
  }
}

/** What of a reply that comes in these pieces is shown, and the pattern that keeps back the rest. */
async function show(patterns: readonly string[], pieces: readonly string[]) {
  const filter = filterOf(patterns);
  let shown = "";
  for (const piece of pieces) shown += await filter.push(piece);
  shown += await filter.end();
  return { shown, reason: filter.hit === undefined ? undefined : patterns[filter.hit] };
}

describe("a reply", () => {
  test.each([
    ["nothing in it matches", ["secret"], ["no ", "such ", "word"], "no such word", undefined],
    ["a word in it matches", ["secret"], ["the sec", "ret is out"], "the ", "secret"],
    [
      "a word matches only as a part of a longer one",
      ["\\bidiot\\b"],
      ["an idiot", "ic plan"],
      "an idiotic plan",
      undefined,
    ],
    ["a word matches with its boundary", ["\\bidiot\\b"], ["an idiot", ", sir"], "an ", "\\bidiot\\b"],
    ["a word matches at its very end", ["idiot$"], ["you idi", "ot"], "you ", "idiot$"],
    ["a match at the end was not at its end", ["idiot$"], ["you idiot", "!"], "you idiot!", undefined],
    ["it begins with what must stand at the beginning", ["^no"], ["n", "o way"], "", "^no"],
    ["what must stand at the beginning comes later", ["^no"], ["say ", "no"], "say no", undefined],
    ["case and width differ", ["secret"], ["the ＳＥＣ", "Ｒet"], "the ", "secret"],
    ["an invisible character is in the middle", ["secret"], ["sec\u200b", "\u00adret"], "", "secret"],
    ["an accent comes by itself", ["café"], ["cafe", "\u0301 noir"], "", "café"],
    ["an accent takes a match away", ["cafe"], ["cafe", "\u0301 noir"], "cafe\u0301 noir", undefined],
    ["one character becomes several", ["\\.\\.\\."], ["wait", "…", " what"], "wait", "\\.\\.\\."],
    [
      "the longest of several decides how much is held",
      ["x", "a{1,30}b"],
      ["aaaaaaaaaaaaaaaaaaaa", "b"],
      "",
      "a{1,30}b",
    ],
    ["characters beyond the basic plane match", ["👋{3}"], ["hi 👋", "👋", "👋!"], "hi ", "👋{3}"],
  ])("of which %s", async (_, sources, pieces, shown, reason) => {
    const result = await show(sources, pieces);
    expect(result.reason).toBe(reason);
    if (reason === undefined) expect(result.shown).toBe(shown);
    // It may be held back more than it had to, never less.
    else expect(shown.startsWith(result.shown), result.shown).toBe(true);
  });

  test("is held back by the longest match and no more", async () => {
    const filter = filterOf(["\\bfoo\\b", "barbar"]);
    const text = "a reply that goes on and on without any of it";
    let shown = "";
    for (const [index, character] of [...text].entries()) {
      shown += await filter.push(character);
      // One more: the last character could still get an accent.
      expect(shown).toBe(text.slice(0, Math.max(0, index + 1 - 1 - 6)));
    }
    expect(shown + (await filter.end())).toBe(text);
  });

  test("lets nothing out after a match, whatever comes", async () => {
    const filter = filterOf(["secret"]);
    expect(await filter.push("the secret is ")).toBe("");
    expect(filter.hit).toBe(0);
    expect((await filter.push("quite harmless, really")) + (await filter.end())).toBe("");
  });

  test("that comes in one large piece is looked at in slices, and shown whole", async () => {
    const set = new PatternSet(["secret"]);
    const lengths: number[] = [];
    const filter = new ReplyFilter(async (text, from, isWhole) => {
      lengths.push(text.length);
      return { hit: set.firstMatch(text, from, isWhole), longest: set.longest };
    });
    const text = "👋 a".repeat(10_000);
    expect((await filter.push(text)) + (await filter.end())).toBe(text);
    expect(lengths.length).toBeGreaterThan(9);
    expect(Math.max(...lengths)).toBeLessThan(4_100);
  });
});

test.each(["a*b", "a+", "(ab|c)+d", "x{2,}", ".*", "\\w+@"])("%s has no end, and is refused for replies", (source) => {
  const matcher = compilePattern(source);
  expect(matcher.longest).toBe(Number.POSITIVE_INFINITY);
  expect(() => requireReplyPattern(matcher)).toThrow("needs an end");
});

test.each(["x?", "\\b", "", "(a|)", "^$"])("%j matches no text at all, and is refused for replies", (source) => {
  expect(() => requireReplyPattern(compilePattern(source))).toThrow("no text");
});

test.each([
  ["secret", 6],
  ["colou?r", 6],
  ["\\bfoo\\b", 3],
  ["a{2,5}(bb|ccc)?", 8],
  ["\\d{4}[ -]?\\d{4}", 9 + 8],
  ["[a-z]{3}", 3],
  ["👋{3}", 6],
  [".", 2],
])("a match of %s has at most %i characters", (source, longest) => {
  // A class that reaches beyond the basic plane, as \d does with full Unicode digits, counts two units each.
  expect(compilePattern(source).longest).toBeLessThanOrEqual(longest);
  expect(compilePattern(source).longest).toBeGreaterThan(0);
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
];
const LETTERS = ["a", "b", "é", "f", "i", "👋", "한", "v", " ", "\\."];

const text = fc.array(fc.constantFrom(...ALPHABET), { maxLength: 40 }).map((parts) => parts.join(""));
/** Expressions whose matches have an end: letters, classes, choices, boundaries and counts within each other. */
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

/** A text cut anywhere but within a character. */
const pieces = fc.tuple(text, fc.array(fc.nat(40), { maxLength: 12 })).map(([whole, cuts]) => {
  const characters = [...whole];
  const places = [
    0,
    ...cuts.map((cut) => Math.min(cut, characters.length)).toSorted((a, b) => a - b),
    characters.length,
  ];
  return places.slice(1).map((place, index) => characters.slice(places[index], place).join(""));
});

test("for any patterns, and a reply cut anywhere, no matched character is ever shown, and every other reply is shown whole", async () => {
  let blocked = 0;
  let whole = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(expression, { minLength: 1, maxLength: 3 }), pieces, async (expressions, parts) => {
      const patterns = expressions.filter(isReplyPattern);
      const reply = parts.join("");
      const normal = normalise(reply);
      const starts = patterns.flatMap((pattern) => compilePattern(pattern).find(normal, 0)?.start ?? []);
      const { shown, reason } = await show(patterns, parts);
      expect(reply.startsWith(shown)).toBe(true);
      if (starts.length === 0) {
        whole++;
        expect(shown).toBe(reply);
        expect(reason).toBeUndefined();
      } else {
        blocked++;
        expect(reason).toBeDefined();
        expect(normalise(shown).length).toBeLessThanOrEqual(Math.min(...starts));
      }
    }),
    { numRuns: process.env.PARLEY_TEST_FULL === "1" ? 20_000 : 2_500 },
  );
  // Both happen often enough to say something.
  expect(Math.min(blocked, whole)).toBeGreaterThan(300);
}, 60_000);
