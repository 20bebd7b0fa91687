import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { listSynonyms, SYNONYM_LISTS } from "./synonyms.ts";

test("lists words with the same meaning, and kinds in both directions", () => {
  expect(listSynonyms("shipping")).toContain("delivery");
  expect(listSynonyms("dog")).toEqual(expect.arrayContaining(["pets", "animals"]));
  expect(listSynonyms("pets")).toContain("dog");
  expect(listSynonyms("dog")).not.toContain("cat");
  expect(listSynonyms("xylophone")).toEqual([]);
  expect(listSynonyms("database")).toEqual([]);
  expect(listSynonyms("Studentenrabatt")).toEqual(expect.arrayContaining(["studierende", "nachlass"]));
});

test("lists words for the phrases in a text, and finds words without an article", () => {
  expect(listSynonyms("Where can I leave my car?")).toContain("parking");
  expect(listSynonyms("are life jackets included")).toContain("buoyancy");
  expect(listSynonyms("Quanto è l'anticipo?")).toContain("acconto");
  expect(listSynonyms("vous livrez ?")).toContain("livraison");
});

test("a text of 10,000 characters takes less than half a second of CPU time", () => {
  expect(cpuMsOf(() => void listSynonyms("life jacket my car ".repeat(526)))).toBeLessThan(500);
});

test.each(Object.entries(SYNONYM_LISTS))(
  "each name of %s is written as a question has it, once in its group",
  (_, lists) => {
    const groups = [...lists.groups, ...lists.kinds.flatMap(({ names, things }) => [names, things])];
    for (const group of groups) {
      expect(new Set(group).size, group.join(", ")).toBe(group.length);
      for (const name of group) expect(name).toMatch(/^(?:#|[\p{Ll}\p{M}\p{N}']+)(?: (?:#|[\p{Ll}\p{M}\p{N}']+))*$/u);
    }
  },
);
