/** Old codes of Hebrew and Indonesian, and the codes of Norwegian and Nynorsk, whose readers also read Bokmål. */
const ALIASES: Readonly<Record<string, string>> = { iw: "he", in: "id", no: "nb", nn: "nb" };

/**
 * Returns the language whose texts fit a tag such as `pt_BR` or `zh_TW.UTF-8`: its first part, with two exceptions. `zh-hant` is Chinese in
 * traditional characters, with which Cantonese (yue) is written too. `pt-pt` is the Portuguese of Europe, Africa and Asia.
 */
export function selectLanguage(tag: string): string {
  const parts = tag
    .trim()
    .toLowerCase()
    .replace(/[-_.@]/g, " ");
  if (/^(zh|cmn|yue)\b/.test(parts)) {
    return /\b(yue|hant|tw|hk|mo)\b/.test(parts) && !/\bhans\b/.test(parts) ? "zh-hant" : "zh";
  }
  if (/^pt (pt|ao|mz|cv|gw|st|tl|mo)\b/.test(parts)) {
    return "pt-pt";
  }
  const first = parts.replace(/ .*/, "");
  return ALIASES[first] ?? first;
}

/** Returns the direction of the texts in a language that selectLanguage returned. */
export const directionOf = (language: string): "ltr" | "rtl" => (/^(ar|he)$/.test(language) ? "rtl" : "ltr");
