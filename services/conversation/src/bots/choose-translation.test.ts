import { expect, test } from "vitest";
import { chooseTranslation } from "./choose-translation.ts";

const TRANSLATIONS = { de: "Leider nein.", "pt-pt": "Lamento.", pt: "Sinto muito." };

test.each([
  ["de", "Leider nein."],
  ["de-AT,de;q=0.9,en;q=0.8", "Leider nein."],
  ["pt-PT", "Lamento."],
  ["pt-BR;q=1", "Sinto muito."],
  ["fr, de;q=0.5", "Leider nein."],
  ["fr", "Sorry."],
  ["*", "Sorry."],
  ["", "Sorry."],
  [",;q=,__proto__,constructor", "Sorry."],
])("Accept-Language %s gives %s", (acceptLanguage, text) => {
  expect(chooseTranslation("Sorry.", TRANSLATIONS, acceptLanguage)).toBe(text);
});

test("a text without translations is the same in every language", () => {
  expect(chooseTranslation("Sorry.", {}, "de")).toBe("Sorry.");
});
