import { listSynonyms } from "@parley/bot-rules/questions";
import type { Database } from "@parley/service-kit";
import { tokenize } from "../documents/index.ts";
import {
  type BotKnowledge,
  findPassages,
  type QueryWord,
  type TermFrequency,
  type WordMatches,
} from "./knowledge-search.store.ts";
import { readCorrectionCandidates } from "./knowledge-words.store.ts";
import { findCorrections, findRelated, isCorrectable } from "./spelling.ts";
import { findWordBoost } from "./word-boosts.ts";

/** Only the beginning of a long message is the query, because a question usually comes first. */
export const MAX_QUERY_CHARACTERS = 1_000;
const MAX_QUERY_WORDS = 48;
/** Multiplies the weights of words that only the query's context contains. */
const CONTEXT_FACTOR = 0.5;

const NO_MATCHES: WordMatches = { passages: [], terms: [] };

/**
 * Finds the passages of a bot's knowledge that share words with a message. If a word of the message does not occur in the knowledge, but likely
 * corrections of it or longer words that contain it do, searches a second time with those.
 *
 * `context` is text that the message refers to. Its words only add to the ranks of passages, and are not among the returned terms.
 */
export async function searchByWords(
  database: Database,
  bot: BotKnowledge,
  message: string,
  context = "",
): Promise<WordMatches> {
  if (bot.chunks === 0) return NO_MATCHES;
  const words = new Set([...new Set(tokenize(message.slice(0, MAX_QUERY_CHARACTERS)))].slice(0, MAX_QUERY_WORDS));
  if (words.size === 0) return NO_MATCHES;
  const added = [...new Set(tokenize(context.slice(0, MAX_QUERY_CHARACTERS)))]
    .filter((word) => !words.has(word))
    .slice(0, MAX_QUERY_WORDS);
  const find = async (ofMessage: ReadonlySet<string>) => {
    const query = [
      ...[...ofMessage].map((word) => toQueryWord(word)),
      ...added.map((word) => toQueryWord(word, CONTEXT_FACTOR)),
    ];
    const found = await findPassages(database, bot, query);
    return { ...found, terms: found.terms.filter(({ word }) => ofMessage.has(word)) };
  };
  const found = await find(words);
  const corrections = await readCorrections(
    database,
    bot,
    found.frequencies.filter(({ word }) => words.has(word)),
  );
  if (corrections.size === 0) return found;
  return find(new Set([...words].flatMap((word) => corrections.get(word) ?? [word])));
}

function toQueryWord(word: string, factor = 1): QueryWord {
  return { word, boost: findWordBoost(word) * factor };
}

/**
 * Maps each query word that occurs in no chunk to its corrections, or to longer words that contain it if it has none. Omits words that
 * isCorrectable rules out, words whose boost is not 1, such as question words, and words without either.
 */
async function readCorrections(
  database: Database,
  bot: BotKnowledge,
  frequencies: readonly TermFrequency[],
): Promise<Map<string, string[]>> {
  const known = new Set(frequencies.filter(({ chunks }) => chunks > 0).map(({ word }) => word));
  const unknown = [...new Set(frequencies.map(({ word }) => word))].filter(
    (word) => !known.has(word) && isCorrectable(word) && findWordBoost(word) === 1,
  );
  if (unknown.length === 0) return new Map();
  const candidates = await readCorrectionCandidates(database, bot, unknown);
  const corrections = unknown.map((word, index) => {
    const near = candidates[index] ?? [];
    // A word with synonyms is not misspelt: "shipping" is no misspelling of "shopping".
    const corrected = listSynonyms(word).length > 0 ? [] : findCorrections(word, near);
    return [word, corrected.length > 0 ? corrected : findRelated(word, near)] as const;
  });
  return new Map(corrections.filter(([, words]) => words.length > 0));
}
