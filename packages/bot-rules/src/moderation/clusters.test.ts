import fc from "fast-check";
import { expect, test } from "vitest";
import { findLastClusterStart, isClusterStart, splitIntoPieces } from "./clusters.ts";
import { normalise } from "./normalise.ts";

/** In `pnpm test:full`, all code points; otherwise those of the first two planes, which have nearly all scripts. */
const LAST_CODE_POINT = process.env.PARLEY_TEST_FULL === "1" ? 0x10ffff : 0x1ffff;
const everyCharacter = function* () {
  for (let code = 0; code <= LAST_CODE_POINT; code++)
    if (code < 0xd800 || code > 0xdfff) yield String.fromCodePoint(code);
};

test("no character that composes with the preceding one starts a cluster", () => {
  const composing = new Set<string>();
  for (const character of everyCharacter()) {
    const [first, ...others] = character.normalize("NFD");
    // Skips characters that NFC does not compose again.
    if (first !== undefined && others.length > 0 && character.normalize("NFC") === character)
      for (const other of others) composing.add(other);
  }
  expect(composing.size).toBeGreaterThan(50);
  const exceptions = [...everyCharacter()].filter((character) => {
    const [first = ""] = character.normalize("NFKD");
    return composing.has(first) && isClusterStart(character);
  });
  expect(exceptions).toEqual([]);
});

test("NFKC of a visible character contains no invisible character", () => {
  const invisible = /\p{Default_Ignorable_Code_Point}/u;
  const exceptions = [...everyCharacter()].filter(
    (character) => !invisible.test(character) && invisible.test(character.normalize("NFKC")),
  );
  expect(exceptions).toEqual([]);
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

test("the normal forms of a text's pieces, joined, are the normal form of the whole text", () => {
  fc.assert(
    fc.property(anyText, (characters) => {
      const text = characters.join("");
      const found = [...splitIntoPieces(text, normalise)];
      expect(found.map(({ raw }) => raw).join("")).toBe(text);
      expect(found.map(({ normalised }) => normalised).join("")).toBe(normalise(text));
    }),
    { numRuns: 500 },
  );
});

test("appending text changes no cluster's normal form except the last one's", () => {
  fc.assert(
    fc.property(anyText, anyText, (before, after) => {
      const text = before.join("");
      const stable = text.slice(0, findLastClusterStart(text));
      const rest = text.slice(stable.length) + after.join("");
      expect(normalise(stable) + normalise(rest)).toBe(normalise(stable + rest));
    }),
    { numRuns: 500 },
  );
});
