import type { BotConfig } from "./bot-configs.service.ts";

/**
 * Returns the text to show instead of a blocked reply: in the first language of the Accept-Language header that the bot has a fallback for,
 * otherwise the bot's own. Browsers list the preferred language first, so weights (`;q=0.8`) are not compared.
 */
export function chooseFallback(
  { fallback, fallbacks }: Pick<BotConfig, "fallback" | "fallbacks">,
  acceptLanguage: string,
): string {
  if (Object.keys(fallbacks).length === 0) return fallback;
  const tags = acceptLanguage.split(",").map((part) => part.split(";", 1)[0]?.trim().toLowerCase() ?? "");
  // A tag such as de-at stands for de too.
  const languages = tags.flatMap((tag) => [tag, tag.split("-", 1)[0] ?? ""]);
  const found = languages.find((language) => Object.hasOwn(fallbacks, language));
  return found === undefined ? fallback : (fallbacks[found] ?? fallback);
}
