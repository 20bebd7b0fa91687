/** Scripts and regions of Chinese in traditional characters. Cantonese (yue) is written with them too. */
const TRADITIONAL_CHINESE = ["yue", "hant", "tw", "hk", "mo"];

/**
 * Returns the language whose texts fit a tag such as `pt-BR` or `zh_TW.UTF-8`: its first part, or `zh-hant` for Chinese in traditional
 * characters. `iw` is an old code of Hebrew.
 */
export function selectLanguage(tag: string): string {
  const parts = tag
    .trim()
    .toLowerCase()
    .split(/[-_.@]/);
  const [language = ""] = parts;
  if (!["zh", "cmn", "yue"].includes(language)) return language === "iw" ? "he" : language;
  const isTraditional = !parts.includes("hans") && TRADITIONAL_CHINESE.some((each) => parts.includes(each));
  return isTraditional ? "zh-hant" : "zh";
}
