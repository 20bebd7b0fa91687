import { expect, test } from "vitest";
import { detectLanguage } from "./language.ts";
import { extractTerms, splitWords } from "./terms.ts";

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

test("an elided article or preposition is not part of a word", () => {
  expect(terms("Quand est l'arrivée à la gare d'Avignon ?")).toEqual(terms("Quand est arrivée à la gare Avignon ?"));
  expect(terms("Il prezzo dell'ingresso è questo?")).toEqual(terms("Il prezzo di ingresso è questo?"));
});
