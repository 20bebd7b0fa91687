import { afterEach, expect, it, vi } from "vitest";

/** Loads the modules anew, as a page does. */
async function open(language: string) {
  vi.resetModules();
  await (await import("../i18n/language.ts")).setLanguage(language, []);
  return (await import("./document-language.ts")).documentLanguage;
}
afterEach(() => vi.resetModules());

it.each([
  ["en", ["English", "Norwegian", "Yiddish"]],
  ["de", ["Englisch", "Norwegisch", "Jiddisch"]],
])("names the languages of documents in the user's language: %s", async (language, names) => {
  const documentLanguage = await open(language);
  expect(["english", "norwegian", "yiddish"].map(documentLanguage)).toEqual(names);
});

it("shows no language of which the search knows no words, and a new one as the service names it", async () => {
  const documentLanguage = await open("de");
  expect(["simple", "newlanguage"].map(documentLanguage)).toEqual(["", "newlanguage"]);
});
