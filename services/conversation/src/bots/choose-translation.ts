/**
 * Returns the translation in the first language of the Accept-Language header that has one, otherwise the text itself. Browsers list the preferred
 * language first, so weights (`;q=0.8`) are not compared.
 */
export function chooseTranslation(
  text: string,
  translations: Readonly<Record<string, string>>,
  acceptLanguage: string,
): string {
  if (Object.keys(translations).length === 0) return text;
  const tags = acceptLanguage.split(",").map((part) => part.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  // A tag such as de-at stands for de too.
  const languages = tags.flatMap((tag) => [tag, tag.split("-", 1)[0] ?? ""]);
  const found = languages.find((language) => Object.hasOwn(translations, language));
  return found === undefined ? text : (translations[found] ?? text);
}
