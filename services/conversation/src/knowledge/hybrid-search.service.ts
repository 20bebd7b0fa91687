import type { Database } from "@parley/service-kit";
import type { KnowledgeMatches } from "../turns/index.ts";
import { fuseRankings } from "./fusion.ts";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import type { SemanticSearch } from "./semantic-search.service.ts";
import { searchByWords } from "./word-search.service.ts";

/** Finds the passages of a bot's knowledge for a message by word search and semantic search, and merges both rankings. */
export async function searchHybrid(
  database: Database,
  semanticSearch: SemanticSearch,
  bot: BotKnowledge,
  message: string,
): Promise<KnowledgeMatches> {
  const [byWords, byMeaning] = await Promise.all([
    searchByWords(database, bot, message),
    semanticSearch.search(bot, message),
  ]);
  return { ...byWords, passages: fuseRankings([byWords.passages, byMeaning]) };
}
