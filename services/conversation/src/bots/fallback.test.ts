import { expect, test } from "vitest";
import { chooseFallback } from "./fallback.ts";

const bot = { fallback: "Sorry.", fallbacks: { de: "Leider nein.", "pt-pt": "Lamento.", pt: "Sinto muito." } };

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
])("Accept-Language %s gives %s", (acceptLanguage, fallback) => {
  expect(chooseFallback(bot, acceptLanguage)).toBe(fallback);
});

test("a bot with one fallback gives it in every language", () => {
  expect(chooseFallback({ fallback: "Sorry.", fallbacks: {} }, "de")).toBe("Sorry.");
});
