import type { Database } from "@parley/service-kit";
import type { Passage, PromptTerm } from "../turns/index.ts";
import { fuseRankings } from "./fusion.ts";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import type { SemanticSearch, SemanticSearchResult } from "./semantic-search.service.ts";
import { searchByWords } from "./word-search.service.ts";

export type FoundPassage = Passage & {
  /** Undefined if the word search did not find the passage. */
  wordRank?: number;
  /** Undefined if the semantic search did not find the passage. */
  similarity?: number;
  /** The fused score of both searches, by which passages are ordered. */
  score: number;
};

export type HybridMatches = {
  /** Best first. */
  passages: readonly FoundPassage[];
  /** The words that the word search looked for, with their weights. */
  terms: readonly PromptTerm[];
  /** Whether the semantic search succeeded, or why not. Undefined if it was skipped. */
  semanticResult: SemanticSearchResult | undefined;
};

/** Finds passages for a message by word search and by semantic search, and merges both rankings. */
export async function searchHybrid(
  database: Database,
  semanticSearch: SemanticSearch,
  bot: BotKnowledge,
  message: string,
): Promise<HybridMatches> {
  const [byWords, byMeaning] = await Promise.all([
    searchByWords(database, bot, message),
    semanticSearch.search(bot, message),
  ]);
  const passages = fuseRankings<Omit<FoundPassage, "score">>([byWords.passages, byMeaning.passages]);
  return { terms: byWords.terms, passages, semanticResult: byMeaning.result };
}
