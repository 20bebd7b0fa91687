import type { Bot } from "@parley/rpc/conversation";

const STORAGE_KEY = "parley-bot";

/** Returns the bot's slug in the page's URL and stores it. If the URL has none, returns the slug that was stored last, or an empty string. */
export function resolveBotSlug(slugInUrl: string | undefined): string {
  if (slugInUrl === undefined) return localStorage.getItem(STORAGE_KEY) ?? "";
  localStorage.setItem(STORAGE_KEY, slugInUrl);
  return slugInUrl;
}

export function findBotOrFirst(bots: readonly Bot[], slug: string): Bot | undefined {
  return bots.find((each) => each.slug === slug) ?? bots[0];
}
