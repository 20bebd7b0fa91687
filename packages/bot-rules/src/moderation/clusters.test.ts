import fc from "fast-check";
import { expect, test } from "vitest";
import { clusters, isBase, lastCluster } from "./clusters.ts";
import { normalise } from "./normalise.ts";

const everyCharacter = function* () {
  for (let code = 0; code <= 0x10ffff; code++) if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code);
};

test("no character that composes with one before it is a place to cut", () => {
  const composing = new Set<string>();
  for (const character of everyCharacter()) {
    const [first, ...others] = character.normalize("NFD");
    // Only what comes together again composes; Hangul syllables come of three at most.
    if (first !== undefined && others.length > 0 && character.normalize("NFC") === character)
      for (const other of others) composing.add(other);
  }
  expect(composing.size).toBeGreaterThan(50);
  const wrong = [...everyCharacter()].filter((character) => {
    const [first = ""] = character.normalize("NFKD");
    return composing.has(first) && isBase(character);
  });
  expect(wrong).toEqual([]);
});

test("folding brings no invisible character back", () => {
  const invisible = /\p{Default_Ignorable_Code_Point}/u;
  const wrong = [...everyCharacter()].filter(
    (character) => !invisible.test(character) && invisible.test(character.normalize("NFKC")),
  );
  expect(wrong).toEqual([]);
});

const anyText = fc.array(
  fc.oneof(
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
    fc.constantFrom(
      "a",
      "e",
      "\u0301",
      "\u200d",
      "\u1100",
      "\u1161",
      "\u11a8",
      "ﬁ",
      "カ",
      "ﾞ",
      "\u3099",
      "ก",
      "\u0bc6",
      "\u0bbe",
    ),
  ),
  { maxLength: 30 },
);

test("a text's pieces are normalised one by one as the whole is", () => {
  fc.assert(
    fc.property(anyText, (characters) => {
      const text = characters.join("");
      const found = [...clusters(text, normalise)];
      expect(found.map(({ raw }) => raw).join("")).toBe(text);
      expect(found.map(({ normal }) => normal).join("")).toBe(normalise(text));
    }),
    { numRuns: 2_000 },
  );
});

test("what stands before the last cluster is normalised the same, whatever follows", () => {
  fc.assert(
    fc.property(anyText, anyText, (before, after) => {
      const text = before.join("");
      const settled = text.slice(0, lastCluster(text));
      const rest = text.slice(settled.length) + after.join("");
      expect(normalise(settled) + normalise(rest)).toBe(normalise(settled + rest));
    }),
    { numRuns: 2_000 },
  );
});
