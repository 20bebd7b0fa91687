import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ENGLISH } from "../english.ts";
import { WIDGET_LANGUAGES } from "../languages.ts";
import { OWN_ENGLISH as OF_PLAYGROUND } from "../playground/english.ts";
import { fillPlaceholders } from "./words.ts";

const LANGUAGES = readdirSync(join(import.meta.dirname, "../lang")).map((file) => file.replace(".json", ""));
/** The folders of the language files, and the English texts in the order of the files' keys. */
const CATALOGUES = [
  ["../lang", { chat: "", loadFailed: "", ...ENGLISH }],
  ["../playground/lang", OF_PLAYGROUND],
] as const;

it("the list of languages has English and each language with a file", () => {
  expect(new Set(WIDGET_LANGUAGES)).toEqual(new Set([...LANGUAGES, "en"]));
});

describe.each(CATALOGUES)("the language file in %s", (folder, english) => {
  const read = (lang: string) =>
    JSON.parse(readFileSync(join(import.meta.dirname, folder, `${lang}.json`), "utf8")) as Record<string, string>;

  it.each(LANGUAGES)("for %s has the keys and placeholders of English", (lang) => {
    const words = read(lang);
    expect(Object.keys(words)).toEqual(Object.keys(english));
    for (const [key, text] of Object.entries(english)) {
      expect(words[key]?.match(/\{\w+\}/g), key).toEqual(text.match(/\{\w+\}/g));
      expect(words[key]?.trim(), key).toBeTruthy();
    }
  });

  it.each(LANGUAGES)("for %s is not in English", (lang) => {
    const words = read(lang);
    for (const [key, text] of Object.entries(english).filter(([, each]) => each.includes(" "))) {
      expect(words[key], key).not.toBe(text);
    }
  });
});

describe("fillPlaceholders", () => {
  it("inserts values as plain text and keeps placeholders that have no value", () => {
    expect(fillPlaceholders("{name} has {n} of {other}", { name: "$&", n: 3 })).toBe("$& has 3 of {other}");
  });
});
