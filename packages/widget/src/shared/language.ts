/**
 * Returns the language whose texts fit a tag such as `pt-BR` or `zh_TW.UTF-8`: its first part, or `zh-hant` for Chinese in traditional
 * characters, with which Cantonese (yue) is written too. `iw` is an old code of Hebrew.
 */
export function selectLanguage(tag: string): string {
  const parts = tag
    .trim()
    .toLowerCase()
    .replace(/[-_.@]/g, " ");
  if (/^(zh|cmn|yue)\b/.test(parts)) {
    return /\b(yue|hant|tw|hk|mo)\b/.test(parts) && !/\bhans\b/.test(parts) ? "zh-hant" : "zh";
  }
  return parts.replace(/ .*/, "").replace(/^iw$/, "he");
}
