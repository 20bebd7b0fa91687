import type { Database } from "@parley/service-kit";
import type { Found } from "../turns/index.ts";
import { fuse } from "./fusion.ts";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import type { Meanings } from "./semantic-search.service.ts";
import { searchKnowledge } from "./word-search.service.ts";

/** What a bot's knowledge has to say to a message, by its words and by its meaning, the two joined by their ranks. */
export async function findKnowledge(
  database: Database,
  meanings: Meanings,
  bot: BotKnowledge,
  message: string,
): Promise<Found> {
  const [byWords, byMeaning] = await Promise.all([
    searchKnowledge(database, bot, message),
    meanings.nearest(bot, message),
  ]);
  return { ...byWords, passages: fuse([byWords.passages, byMeaning]) };
}
