import { expect, test } from "vitest";
import { corrections, editDistance, unchangedEnds } from "./spelling.ts";

test.each([
  ["lenght", "length"],
  ["maximun", "maximum"],
  ["paramter", "parameter"],
  ["timout", "timeout"],
  ["recieve", "receive"],
  ["adress", "address"],
  ["acommodation", "accommodation"],
])("%s stands for %s", (word, meant) => {
  const others = ["letter", "minimum", "perimeter", "timber", "recipe", "dress", "accumulation", "than"];
  expect(corrections(word, [...others, meant])).toEqual([meant]);
});

test.each([
  ["bread", "break"],
  ["speak", "sneak"],
  ["bread", "read"],
  ["cat", "car"],
  ["berlin", "merlin"],
  ["salary", "celery"],
])("%s does not stand for %s", (word, other) => {
  expect(corrections(word, [other])).toEqual([]);
});

test("one slip or swap leaves the beginning or the end by which a word is looked for", () => {
  const slips = (word: string) =>
    Array.from(word).flatMap((letter, at) => [
      word.slice(0, at) + word.slice(at + 1),
      `${word.slice(0, at)}x${word.slice(at + 1)}`,
      `${word.slice(0, at)}${letter}${word.slice(at)}`,
      `${word.slice(0, at)}${word[at + 1] ?? ""}${letter}${word.slice(at + 2)}`,
    ]);
  for (const word of ["order", "parameter", "delivery", "refund", "accommodation"])
    for (const slip of slips(word).filter((each) => each.length >= 5)) {
      const { beginning, end } = unchangedEnds(slip);
      expect(word.startsWith(beginning) || word.endsWith(end), `${slip} for ${word}`).toBe(true);
    }
});

test("the distance is counted no further than its bound", () => {
  expect(editDistance("abcdef", "abdcef", 2)).toBe(1);
  expect(editDistance("kitten", "sitting", 3)).toBe(3);
  expect(editDistance("kitten", "sitting", 1)).toBe(2);
  expect(editDistance("x".repeat(100), "y".repeat(100), 1)).toBe(2);
});
