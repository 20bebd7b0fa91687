import { expect, test } from "vitest";
import { expandShortForms } from "./short-forms.ts";

test.each([
  ["whats the price and wheres the shop", "what is the price and where is the shop"],
  ["do u repair boots, r u open", "do you repair boots, are you open"],
  ["my lamp doesnt work and i cant fix it", "my lamp does not work and i cannot fix it"],
  ["siete u ocho", "siete u ocho"],
  ["Kunt u mij helpen?", "Kunt u mij helpen?"],
  ["Was ist im Preis drin?", "Was ist im Preis drin?"],
])("writes out %j", (message, expected) => {
  expect(expandShortForms(message)).toBe(expected);
});
