import { expect, test } from "vitest";
import { chooseLanguage, parseLanguage } from "./language.ts";

test.each([
  ["de", "german"],
  ["DE-AT", "german"],
  ["german", "german"],
  [" English ", "english"],
  ["nb_NO", "norwegian"],
  ["simple", "simple"],
  ["xx", undefined],
  ["constructor", undefined],
  ["", undefined],
])("parseLanguage parses %j as %s", (text, language) => {
  expect(parseLanguage(text)).toBe(language);
});

const words = (text: string) => text.toLowerCase().split(" ");

test("chooseLanguage chooses the language with the most stop words", () => {
  const sample = words("die katze ist auf dem dach und der hund ist im haus");
  expect(
    chooseLanguage(
      sample,
      new Map([
        ["english", 0],
        ["german", 7],
        ["dutch", 3],
      ]),
    ),
  ).toBe("german");
});

test("chooseLanguage chooses `simple` for a language without a stop word list, and `english` for a few ASCII words", () => {
  const polish = words("paczka przychodzi po trzech dniach ".repeat(10).trim());
  expect(
    chooseLanguage(
      polish,
      new Map([
        ["english", 0],
        ["portuguese", 2],
      ]),
    ),
  ).toBe("simple");
  expect(chooseLanguage(["tea", "4"], new Map([["english", 0]]))).toBe("english");
  expect(chooseLanguage([], new Map([["english", 0]]))).toBe("english");
});

test("chooseLanguage chooses the language of the text's script", () => {
  expect(chooseLanguage(words("η γάτα είναι στη στέγη"), new Map([["english", 0]]))).toBe("greek");
});
