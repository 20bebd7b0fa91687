import type { Database } from "@parley/service-kit";
import { searchWords } from "../documents/index.ts";
import type { Found } from "../turns/index.ts";
import { worthOf } from "./asking-words.ts";
import { type AskedWord, type BotKnowledge, findPassages, type KnownTerm } from "./knowledge-search.store.ts";
import { readCandidates } from "./knowledge-words.store.ts";
import { canBeMisspelt, corrections } from "./spelling.ts";

/** A question's words come early; a long message is not searched to its end. */
const MAX_QUERY_CHARACTERS = 1_000;
const MAX_QUERY_WORDS = 48;

const NOTHING: Found = { passages: [], terms: [] };

/**
 * The passages of a bot's knowledge that share words with a message. A word that the knowledge does not have stands for the one that it is
 * a misspelling of, which costs a second search.
 */
export async function searchKnowledge(database: Database, bot: BotKnowledge, message: string): Promise<Found> {
  if (bot.chunks === 0) return NOTHING;
  const words = [...new Set(searchWords(message.slice(0, MAX_QUERY_CHARACTERS)))].slice(0, MAX_QUERY_WORDS);
  if (words.length === 0) return NOTHING;
  const found = await findPassages(database, bot, words.map(toAsked));
  const meant = await readMeant(database, bot, found.asked);
  if (meant.size === 0) return found;
  const corrected = new Set(words.flatMap((word) => meant.get(word) ?? [word]));
  return findPassages(database, bot, [...corrected].map(toAsked));
}

function toAsked(word: string): AskedWord {
  return { word, worth: worthOf(word) };
}

/** What the words stand for that no source has. */
async function readMeant(
  database: Database,
  bot: BotKnowledge,
  asked: readonly KnownTerm[],
): Promise<Map<string, string[]>> {
  const known = new Set(asked.filter(({ chunks }) => chunks > 0).map(({ word }) => word));
  const unknown = [...new Set(asked.map(({ word }) => word))].filter(
    (word) => !known.has(word) && canBeMisspelt(word) && worthOf(word) === 1,
  );
  if (unknown.length === 0) return new Map();
  const candidates = await readCandidates(database, bot, unknown);
  const meant = unknown.map((word, place) => [word, corrections(word, candidates[place] ?? [])] as const);
  return new Map(meant.filter(([, words]) => words.length > 0));
}
