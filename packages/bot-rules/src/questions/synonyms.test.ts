import { expect, test } from "vitest";
import { listSynonyms } from "./synonyms.ts";

test("lists words with the same meaning, and kinds in both directions", () => {
  expect(listSynonyms("shipping")).toContain("delivery");
  expect(listSynonyms("dog")).toEqual(expect.arrayContaining(["pets", "animals"]));
  expect(listSynonyms("pets")).toContain("dog");
  expect(listSynonyms("dog")).not.toContain("cat");
  expect(listSynonyms("mug")).toEqual([]);
});
