import { listSynonyms } from "@parley/bot-rules/questions";
import type { Database } from "@parley/service-kit";
import { type Spelling, tokenize, tokenizeWithSpellings } from "../documents/index.ts";
import { type BotKnowledge, findPassages, type QueryWord, type WordMatches } from "./knowledge-search.store.ts";
import { readCorrectionCandidates, readKnownWords, readWordsAround } from "./knowledge-words.store.ts";
import {
  findCompoundParts,
  findCorrections,
  findRelated,
  isCorrectable,
  listCompoundParts,
  MIN_RELATED_CHARACTERS,
} from "./spelling.ts";
import { findWordBoost } from "./word-boosts.ts";

/** Only the beginning of a long message is the query, because a question usually comes first. */
export const MAX_QUERY_CHARACTERS = 1_000;
const MAX_QUERY_WORDS = 48;
/** Multiplies the weights of words that only the query's context contains. */
const CONTEXT_FACTOR = 0.5;

/** Languages that write compounds as one word, by their text search configurations. */
const COMPOUNDING_LANGUAGES: ReadonlySet<string> = new Set(
  "german dutch danish swedish norwegian finnish hungarian".split(" "),
);

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
  const tokens = tokenizeWithSpellings(message.slice(0, MAX_QUERY_CHARACTERS));
  const words = new Set([...new Set(tokens.words)].slice(0, MAX_QUERY_WORDS));
  if (words.size === 0) return NO_MATCHES;
  const spellings = tokens.spellings.slice(0, MAX_QUERY_WORDS);
  const compounds = await readCompounds(database, bot, [...words].filter(isCorrectableSubject));
  const added = [...new Set([...tokenize(context.slice(0, MAX_QUERY_CHARACTERS)), ...compounds])]
    .filter((word) => !words.has(word))
    .slice(0, MAX_QUERY_WORDS);
  const find = async (ofMessage: ReadonlySet<string>, hidden: ReadonlySet<string> = new Set()) => {
    const query = [
      ...[...ofMessage].map((word) => toQueryWord(word)),
      ...spellings.filter(({ word }) => !ofMessage.has(word)).map(toSpellingOfQuery),
      ...added.map((word) => toQueryWord(word, CONTEXT_FACTOR)),
    ];
    const found = await findPassages(database, bot, message.slice(0, MAX_QUERY_CHARACTERS), query);
    const known = new Set(found.frequencies.filter(({ chunks }) => chunks > 0).map(({ word }) => word));
    const inUse = listWordsInUse(ofMessage, spellings, known);
    return { ...found, known, terms: found.terms.filter(({ word }) => inUse.has(word) && !hidden.has(word)) };
  };
  const found = await find(words);
  const unknown = found.frequencies
    .map(({ word }) => word)
    .filter((word) => words.has(word) && !found.known.has(word))
    .filter((word) => !spellings.some((each) => each.of.includes(word) && found.known.has(each.word)));
  const corrections = await readCorrections(database, bot, [...new Set(unknown)].filter(isCorrectableSubject));
  if (corrections.size === 0) return found;
  // One part of a compound finds passages, but is no evidence that they answer: Hunde of Hundefutter.
  const parts = [...corrections].flatMap(([word, found]) =>
    found.length === 1 && found.some((part) => part.length < word.length && listCompoundParts(word).includes(part))
      ? found
      : [],
  );
  return find(
    new Set([...words].flatMap((word) => corrections.get(word) ?? [word])),
    new Set(parts.filter((part) => !words.has(part))),
  );
}

function toQueryWord(word: string, factor = 1): QueryWord {
  return { word, boost: findWordBoost(word) * factor };
}

function toSpellingOfQuery({ word, of }: Spelling): QueryWord {
  // A joined word stands for several words. Each of them is less specific.
  return { ...toQueryWord(word), spellingOf: of.length === 1 ? of[0] : undefined };
}

/** Returns the words that the search looked for: of a word with other spellings, those that occur in the knowledge, or the word itself. */
function listWordsInUse(
  words: ReadonlySet<string>,
  spellings: readonly Spelling[],
  known: ReadonlySet<string>,
): ReadonlySet<string> {
  const knownSpellings = spellings.filter(({ word, of }) => known.has(word) && !of.every((each) => known.has(each)));
  const replaced = new Set(knownSpellings.flatMap(({ of }) => of));
  const own = [...words].filter((word) => known.has(word) || !replaced.has(word));
  return new Set([...own, ...knownSpellings.map(({ word }) => word)]);
}

/** Returns whether a word may be corrected and, unlike a question word, may name the subject of a question. */
function isCorrectableSubject(word: string): boolean {
  return isCorrectable(word) && findWordBoost(word) === 1;
}

/** Returns compounds of the knowledge that begin or end with one of `words`, if the bot has documents in a language that writes them as one word. */
async function readCompounds(database: Database, bot: BotKnowledge, words: readonly string[]): Promise<string[]> {
  if (!bot.languages.some((language) => COMPOUNDING_LANGUAGES.has(language))) return [];
  const long = words.filter((word) => word.length >= MIN_RELATED_CHARACTERS);
  if (long.length === 0) return [];
  const candidates = await readWordsAround(database, bot, long);
  return long.flatMap((word, index) => findRelated(word, candidates[index] ?? []));
}

/**
 * Maps each of `words`, which occur in no chunk, to its corrections. If it has none, maps it to longer words that contain it, or else to the words of
 * which it is a compound. Omits words without any of these.
 */
async function readCorrections(
  database: Database,
  bot: BotKnowledge,
  words: readonly string[],
): Promise<Map<string, string[]>> {
  if (words.length === 0) return new Map();
  const candidates = await readCorrectionCandidates(database, bot, words);
  const parts = await readKnownWords(database, bot, words.flatMap(listCompoundParts));
  const corrections = words.map((word, index) => {
    const near = candidates[index] ?? [];
    // A word with synonyms is not misspelt: "shipping" is no misspelling of "shopping".
    const corrected = listSynonyms(word).length > 0 ? [] : findCorrections(word, near);
    if (corrected.length > 0) return [word, corrected] as const;
    const related = findRelated(word, near);
    return [word, related.length > 0 ? related : findCompoundParts(word, parts)] as const;
  });
  return new Map(corrections.filter(([, found]) => found.length > 0));
}
