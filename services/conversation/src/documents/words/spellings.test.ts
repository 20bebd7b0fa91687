import { expect, test } from "vitest";
import { tokenizeWithSpellings } from "./tokenize.ts";

test.each([
  ["Wi-Fi and wifi", []],
  ["Wi-Fi", ["wifi"]],
  ["T‑Shirts", ["tshirts"]],
  ["AB-12-34", ["ab1234"]],
  ["from 9-17 on 2026-03-15", []],
  ["10kg", ["10", "kg"]],
  ["1.5l", ["1.5", "l"]],
  ["2m", ["2", "m"]],
  ["in 3d and B2", []],
  ["a1b2c3d4e5", []],
  ["Reçu", ["recu"]],
  ["Größe", ["grosse", "groesse"]],
  ["İSTANBUL", ["istanbul"]],
  ["kırmızı", ["kirmizi"]],
  ["й ё", ["е"]],
  ["shopping cart", []],
  ["배송비는", ["배송비", "배송"]],
])("other spellings of %j are %j", (text, spellings) => {
  expect(tokenizeWithSpellings(text).spellings.map(({ word }) => word)).toEqual(spellings);
});

test("a text to index also has the pairs of syllables of Korean words", () => {
  const { spellings } = tokenizeWithSpellings("무료배송", { isIndexed: true });
  expect(spellings.map(({ word }) => word)).toEqual(["무료배", "무료", "료배", "배송"]);
});

test("soft hyphens are no part of a word", () => {
  expect(tokenizeWithSpellings("Ver\u00adsand\u00adkosten").words).toEqual(["versandkosten"]);
});
