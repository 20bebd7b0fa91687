import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { launcherWords } from "../launcher/words.ts";
import { ENGLISH, fill, meaningOf, pickLanguage } from "./words.ts";

const FOLDER = join(import.meta.dirname, "../lang");
const LANGUAGES = readdirSync(FOLDER).map((file) => file.replace(".json", ""));

/** Every code of the contract and of the design, and those of the widget's own. */
const CODES = [
  ["invalid_json", "refused", false],
  ["invalid_message", "refused", false],
  ["message_too_long", "long", false],
  ["payload_too_large", "long", false],
  ["invalid_session_id", "refused", false],
  ["invalid_api_key", "closed", false],
  ["origin_not_allowed", "closed", false],
  ["method_not_allowed", "refused", false],
  ["rate_limited", "busy", true],
  ["unavailable", "busy", true],
  ["session_not_found", "ended", false],
  ["quota_exceeded", "quota", false],
  ["provider_auth", "closed", false],
  ["provider_rate_limited", "busy", true],
  ["provider_timeout", "slow", true],
  ["provider_error", "failed", true],
  ["internal_error", "failed", true],
  ["authentication_required", "closed", false],
  ["not_authenticated", "closed", false],
  ["forbidden", "closed", false],
  ["no_workspace", "closed", false],
  ["bot_not_found", "closed", false],
  ["auth_unavailable", "busy", true],
  ["offline", "offline", true],
  ["network", "network", true],
  ["interrupted", "interrupted", true],
  ["stopped", "stopped", true],
  ["a_code_of_tomorrow", "failed", true],
] as const;

describe("the words for a code", () => {
  it.each(CODES)("%s are %s, trying again %s", (code, word, retry) => {
    expect(meaningOf(code)).toEqual({ word, retry });
    expect(ENGLISH[word]).not.toContain("_");
  });
});

describe("a language", () => {
  it.each(LANGUAGES)("%s says everything that English says, with the same places for values", (lang) => {
    const words = JSON.parse(readFileSync(join(FOLDER, `${lang}.json`), "utf8")) as Record<string, string>;
    expect(Object.keys(words)).toEqual(Object.keys(ENGLISH));
    for (const [key, english] of Object.entries(ENGLISH)) {
      expect(words[key]?.match(/\{\w+\}/g), key).toEqual(english.match(/\{\w+\}/g));
      expect(words[key]?.trim(), key).toBeTruthy();
    }
  });

  it.each(LANGUAGES)("%s has words for the launcher too", (lang) => {
    expect(launcherWords(lang)).not.toBe(launcherWords("en"));
  });

  it("is found by its tag, its region or not at all", () => {
    expect(pickLanguage("pt-br", LANGUAGES)).toBe("pt");
    expect(pickLanguage("zh-hant-tw", LANGUAGES)).toBe("zh");
    expect(pickLanguage("ar", LANGUAGES)).toBe("ar");
    expect(pickLanguage("en-gb", LANGUAGES)).toBeUndefined();
    expect(pickLanguage("", LANGUAGES)).toBeUndefined();
  });
});

describe("fill", () => {
  it("puts values in, as text, and leaves what it does not know", () => {
    expect(fill("{name} has {n} of {other}", { name: "$&", n: 3 })).toBe("$& has 3 of {other}");
  });
});
