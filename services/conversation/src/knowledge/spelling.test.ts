import { expect, test } from "vitest";
import { editDistance, findCompoundParts, findCorrections, findRelated, prefixAndSuffixOf } from "./spelling.ts";

test.each([
  ["lenght", "length"],
  ["maximun", "maximum"],
  ["paramter", "parameter"],
  ["timout", "timeout"],
  ["recieve", "receive"],
  ["adress", "address"],
  ["acommodation", "accommodation"],
])("findCorrections corrects %s to %s", (word, correction) => {
  const others = ["letter", "minimum", "perimeter", "timber", "recipe", "dress", "accumulation", "than"];
  expect(findCorrections(word, [...others, correction])).toEqual([correction]);
});

test.each([
  ["bread", "break"],
  ["speak", "sneak"],
  ["bread", "read"],
  ["cat", "car"],
  ["berlin", "merlin"],
  ["salary", "celery"],
])("findCorrections does not correct %s to %s", (word, other) => {
  expect(findCorrections(word, [other])).toEqual([]);
});

test("a misspelling with one edit or swap keeps the word's prefix or suffix", () => {
  const misspellings = (word: string) =>
    Array.from(word).flatMap((letter, at) => [
      word.slice(0, at) + word.slice(at + 1),
      `${word.slice(0, at)}x${word.slice(at + 1)}`,
      `${word.slice(0, at)}${letter}${word.slice(at)}`,
      `${word.slice(0, at)}${word[at + 1] ?? ""}${letter}${word.slice(at + 2)}`,
    ]);
  for (const word of ["order", "parameter", "delivery", "refund", "accommodation"])
    for (const misspelling of misspellings(word).filter((each) => each.length >= 5)) {
      const { prefix, suffix } = prefixAndSuffixOf(misspelling);
      expect(word.startsWith(prefix) || word.endsWith(suffix), `${misspelling} for ${word}`).toBe(true);
    }
});

test("editDistance returns the distance, or a number above maxDistance if the distance exceeds maxDistance", () => {
  expect(editDistance("abcdef", "abdcef", 2)).toBe(1);
  expect(editDistance("kitten", "sitting", 3)).toBe(3);
  expect(editDistance("kitten", "sitting", 1)).toBe(2);
  expect(editDistance("x".repeat(100), "y".repeat(100), 1)).toBe(2);
});

test("findRelated returns the shortest words that begin or end with a word", () => {
  const words = [
    "haftpflichtversicherung",
    "versicherungen",
    "versichert",
    "hundehaftpflichtversicherung",
    "versicherungsnummer",
  ];
  expect(findRelated("versicherung", words)).toEqual([
    "versicherungen",
    "versicherungsnummer",
    "haftpflichtversicherung",
  ]);
  expect(findRelated("versicherungen", words)).toEqual([]);
});

test("findRelated returns nothing for a word of fewer than five letters, or for a part of the word", () => {
  expect(findRelated("port", ["portugal", "airport"])).toEqual([]);
  expect(findRelated("kaffeebohnen", ["kaffee", "bohnen"])).toEqual([]);
});

test.each([
  ["versandkosten", ["versand", "kosten", "kost"], ["versand", "kosten"]],
  ["lieferzeit", ["liefer", "lieferz"], ["liefer"]],
  ["kosten", ["kost"], []],
  ["zeitzeit", ["zeit"], ["zeit"]],
])("findCompoundParts(%j) among %j returns %j", (word, known, parts) => {
  expect(findCompoundParts(word, new Set(known))).toEqual(parts);
});
