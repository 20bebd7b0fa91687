import type { ApiKey, Bot } from "@parley/rpc/conversation";

/** Returns what the screen calls a key. Several keys of one bot may have no name, so the last characters tell them apart in `uniqueName`. */
export function nameKey({ name, botSlug, publicKey }: ApiKey, bots: readonly Bot[]) {
  const botName = bots.find(({ slug }) => slug === botSlug)?.display?.name || botSlug;
  return { title: name || botName, uniqueName: name || `${botName} …${publicKey.slice(-6)}` };
}
