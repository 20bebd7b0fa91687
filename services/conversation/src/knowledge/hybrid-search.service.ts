import { expandShortForms, listNamesOfRelativeDay, listSynonyms } from "@parley/bot-rules/questions";
import type { Database } from "@parley/service-kit";
import type { Passage, PromptTerm } from "../turns/index.ts";
import { fuseRankings } from "./fusion.ts";
import type { BotKnowledge } from "./knowledge-search.store.ts";
import type { SemanticSearch, SemanticSearchResult } from "./semantic-search.service.ts";
import { MAX_QUERY_CHARACTERS, searchByWords } from "./word-search.service.ts";

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

const NO_MATCHES: HybridMatches = { passages: [], terms: [], semanticResult: undefined };

/** Limits the continued question in the text for the semantic search, so that the message fits too. */
const MAX_CONTINUED_CHARACTERS = 500;

/**
 * Finds passages for a message by word search and by semantic search, and merges both rankings. `continued` is the visitor's question that the
 * message continues; empty if it stands alone.
 */
export async function searchHybrid(
  database: Database,
  semanticSearch: SemanticSearch,
  bot: BotKnowledge,
  typed: string,
  continued = "",
): Promise<HybridMatches> {
  if (bot.chunks === 0) return NO_MATCHES;
  const message = expandShortForms(typed);
  const day = listNamesOfRelativeDay(message, bot.timeZone, new Date());
  const synonyms = [message, continued].flatMap((each) => listSynonyms(each.slice(0, MAX_QUERY_CHARACTERS)));
  const context = [continued, ...day, ...synonyms].join(" ");
  const text = continued === "" ? message : `${continued.slice(0, MAX_CONTINUED_CHARACTERS)}\n${message}`;
  const [byWords, byMeaning] = await Promise.all([
    searchByWords(database, bot, message, context),
    semanticSearch.search(bot, text),
  ]);
  const passages = fuseRankings<Omit<FoundPassage, "score">>([byWords.passages, byMeaning.passages]);
  return { terms: byWords.terms, passages, semanticResult: byMeaning.result };
}
