import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ENGLISH } from "../english.ts";
import { WIDGET_LANGUAGES } from "../languages.ts";
import { OWN_ENGLISH as OF_PLAYGROUND } from "../playground/english.ts";
import { fillPlaceholders, selectNotice } from "./words.ts";

const LANGUAGES = readdirSync(join(import.meta.dirname, "../lang")).map((file) => file.replace(".json", ""));
/** The folders of the language files, and the English texts in the order of the files' keys. */
const CATALOGUES = [
  ["../lang", { chat: "", loadFailed: "", ...ENGLISH }],
  ["../playground/lang", OF_PLAYGROUND],
] as const;

/** Error codes of the API and of the widget, each with the key of its text and canRetry. */
const CODES = [
  ["invalid_json", "refused", false],
  ["invalid_message", "refused", false],
  ["message_too_long", "long", false],
  ["payload_too_large", "long", false],
  ["invalid_session_id", "refused", false],
  ["invalid_api_key", "closed", false],
  ["origin_not_allowed", "closed", false],
  ["visitor_token_required", "closed", false],
  ["invalid_visitor_token", "failed", true],
  ["method_not_allowed", "refused", false],
  ["rate_limited", "busy", true],
  ["visitor_limit", "busy", true],
  ["unavailable", "busy", true],
  ["overloaded", "busy", true],
  ["session_not_found", "ended", false],
  ["busy", "busy", true],
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
  ["refused", "refused", false],
  ["empty", "failed", true],
  ["unknown_code", "failed", true],
] as const;

describe("selectNotice", () => {
  it.each(CODES)("returns for %s the text key %s, with canRetry %s", (code, key, canRetry) => {
    expect(selectNotice(code)).toEqual({ key, canRetry });
    // No text may show an error code such as quota_exceeded.
    expect(ENGLISH[key]).not.toContain("_");
  });
});

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
