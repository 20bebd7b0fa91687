import { expect, test } from "vitest";
import { parseLanguage, tellLanguage } from "./language.ts";

test.each([
  ["de", "german"],
  ["DE-AT", "german"],
  ["german", "german"],
  [" English ", "english"],
  ["nb_NO", "norwegian"],
  ["simple", "simple"],
  ["xx", undefined],
  ["", undefined],
])("%j is %s", (text, language) => {
  expect(parseLanguage(text)).toBe(language);
});

const words = (text: string) => text.toLowerCase().split(" ");

test("a text is of the language most of whose small words it has", () => {
  const sample = words("die katze ist auf dem dach und der hund ist im haus");
  expect(
    tellLanguage(
      sample,
      new Map([
        ["english", 0],
        ["german", 7],
        ["dutch", 3],
      ]),
    ),
  ).toBe("german");
});

test("a text of a language without a list is compared as it stands, and a few plain words count as English", () => {
  const polish = words("paczka przychodzi po trzech dniach ".repeat(10).trim());
  expect(
    tellLanguage(
      polish,
      new Map([
        ["english", 0],
        ["portuguese", 2],
      ]),
    ),
  ).toBe("simple");
  expect(tellLanguage(["tea", "4"], new Map([["english", 0]]))).toBe("english");
  expect(tellLanguage([], new Map([["english", 0]]))).toBe("english");
});

test("a script tells a language that has it to itself", () => {
  expect(tellLanguage(words("η γάτα είναι στη στέγη"), new Map([["english", 0]]))).toBe("greek");
});
