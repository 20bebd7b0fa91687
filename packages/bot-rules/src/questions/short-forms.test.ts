import { expect, test } from "vitest";
import { expandShortForms } from "./short-forms.ts";

test.each([
  ["whats the price and wheres the shop", "what is the price and where is the shop"],
  ["do u repair boots, r u open", "do you repair boots, are you open"],
  ["my lamp doesnt work and i cant fix it", "my lamp does not work and i cannot fix it"],
  ["i dont know, dont you have blue ones", "i do not know, do not you have blue ones"],
  ["La pièce dont vous parlez et celui dont je parle", "La pièce dont vous parlez et celui dont je parle"],
  ["Kinder u. Erwachsene, alquilar u ofrecer, voor u", "Kinder u. Erwachsene, alquilar u ofrecer, voor u"],
  ["do you have whats app", "do you have whats app"],
  ["siete u ocho", "siete u ocho"],
  ["Kunt u mij helpen?", "Kunt u mij helpen?"],
  ["Was ist im Preis drin?", "Was ist im Preis drin?"],
])("writes out %j", (message, expected) => {
  expect(expandShortForms(message)).toBe(expected);
});
