import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { selectLanguage } from "./language.ts";

const LANGUAGES = readdirSync(join(import.meta.dirname, "../lang")).map((file) => file.replace(".json", ""));

describe("the texts' language", () => {
  it.each([
    ["zh-TW", "zh-hant"],
    ["zh-HK", "zh-hant"],
    ["zh-MO", "zh-hant"],
    ["zh-Hant", "zh-hant"],
    ["zh-Hant-TW", "zh-hant"],
    ["zh-Hant-CN", "zh-hant"],
    ["ZH_tw", "zh-hant"],
    ["zh_TW.UTF-8", "zh-hant"],
    ["zh-yue-HK", "zh-hant"],
    ["zh-TW-x-private", "zh-hant"],
    ["cmn-Hant-TW", "zh-hant"],
    ["yue", "zh-hant"],
    ["yue-HK", "zh-hant"],
    ["zh", "zh"],
    ["zh-CN", "zh"],
    ["zh-SG", "zh"],
    ["zh-MY", "zh"],
    ["zh-Hans", "zh"],
    ["zh-Hans-TW", "zh"],
    ["zh-Hans-HK", "zh"],
    ["zh_CN", "zh"],
    ["cmn", "zh"],
    ["yue-Hans-CN", "zh"],
    ["pt-PT", "pt-pt"],
    ["pt_PT.UTF-8", "pt-pt"],
    ["pt-AO", "pt-pt"],
    ["pt", "pt"],
    ["pt-BR", "pt"],
    ["pt_BR", "pt"],
    ["pt_br.utf8", "pt"],
    ["no", "nb"],
    ["nn-NO", "nb"],
    ["nb_NO", "nb"],
    ["in-ID", "id"],
    ["id", "id"],
    ["iw", "he"],
    ["iw-IL", "he"],
    ["he_IL", "he"],
    ["de-CH-1996", "de"],
    ["de_DE@euro", "de"],
    ["DE", "de"],
    [" de ", "de"],
    ["es-419", "es"],
    ["ar-EG", "ar"],
    ["ja-JP", "ja"],
  ])("for the tag %s is %s", (tag, language) => {
    expect(selectLanguage(tag)).toBe(language);
    expect(LANGUAGES).toContain(language);
  });

  // Languages without texts. Some codes begin with the code of a language with texts.
  it.each(["en", "en-GB", "sr-Latn", "fil", "arn", "est", "dev", "und", "C", "", "x-de", "-"])(
    "for the tag %j is English",
    (tag) => {
      expect(LANGUAGES).not.toContain(selectLanguage(tag));
    },
  );
});
