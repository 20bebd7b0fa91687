import { expect, test } from "vitest";
import { findAskedKind } from "./value-kinds.ts";

test.each([
  ["how much deposit do you take", "We take £40.", "We take a deposit."],
  ["how much milk goes in", "Two cups are enough.", "It needs milk."],
  ["Wie viel Mehl brauche ich?", "Sie brauchen 500 g.", "Sie brauchen Mehl."],
  ["combien de temps à l'avance", "Une semaine avant.", "Réservez à l'avance."],
])("%j asks for an amount: %j has one, %j has none", (message, withValue, without) => {
  const kind = findAskedKind(message);
  expect(kind?.value.test(withValue)).toBe(true);
  expect(kind?.value.test(without)).toBe(false);
});

test.each([
  "what is included in the price",
  "What do the fees include?",
  "was ist im preis enthalten",
  "qu'est-ce qui est compris dans le prix ?",
  "qué incluye el precio",
  "cosa è compreso nel prezzo?",
  "En cuanto a la entrega, ¿es a domicilio?",
  "Per quanto riguarda i resi, come funziona?",
])("%j asks for no value", (message) => {
  expect(findAskedKind(message)).toBeUndefined();
});

test("a question whether a thing is included in the price asks for a price", () => {
  expect(findAskedKind("is breakfast included in the price?")?.value.test("Breakfast costs £8.")).toBe(true);
});
