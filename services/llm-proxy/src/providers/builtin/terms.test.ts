import { expect, test } from "vitest";
import { detectLanguage } from "./language.ts";
import { extractTerms, isMisspelling, splitWords } from "./terms.ts";

const terms = (text: string) => [...extractTerms(text, detectLanguage(splitWords(text)))];

test("all inflections of a word are one term, and stop words are not terms", () => {
  expect(terms("How do I install it? The installation, installing, installed.")).toEqual(["instal"]);
  expect(terms("What is the price of the plans?")).toEqual(terms("the plan and its prices").reverse());
  expect(terms("the shop's refunds")).toEqual(terms("of shops, a refund"));
});

test("the language is detected by its stop words", () => {
  expect(terms("Wie kann ich die Bestellungen stornieren?")).toEqual(terms("die Bestellung nicht stornieren"));
  expect(terms("Comment puis-je annuler mes commandes ?")).toContain("command");
  expect(terms("¿Cómo puedo cancelar los pedidos?")).toContain("ped");
});

test("words that differ only in case, width or accents are the same term", () => {
  expect(terms("ＣＡＦÉ Crème")).toEqual(terms("café creme"));
});

test("a word is a misspelling of another if one letter is added, missing, wrong or swapped with the next, and the longer word has five letters or more", () => {
  for (const [one, other] of [
    ["refund", "refnud"],
    ["refund", "refun"],
    ["refund", "refundd"],
    ["refund", "rafund"],
    ["refund", "efund"],
    ["refund", "rwfund"],
    ["order", "ordr"],
    ["order", "odrer"],
  ] as const) {
    expect(isMisspelling(one, other), `${one} ${other}`).toBe(true);
    expect(isMisspelling(other, one), `${other} ${one}`).toBe(true);
  }
  for (const [one, other] of [
    ["refund", "rebind"],
    ["refund", "refunded"],
    ["cat", "car"],
    ["plan", "plna"],
    ["plan", "pla"],
    ["plan", "plank2"],
    ["refund", "nudref"],
    ["order", "rodre"],
  ] as const) {
    expect(isMisspelling(one, other), `${one} ${other}`).toBe(false);
    expect(isMisspelling(other, one), `${other} ${one}`).toBe(false);
  }
});
