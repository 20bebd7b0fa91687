import type { Passage } from "./prompt.ts";

/** An estimate for English text. */
const CHARACTERS_PER_TOKEN = 4;

/**
 * The session's earlier turns that OpenTurn reads. Bounds the cost of the query and of the prompt. llm-proxy then fits the prompt into the window
 * of each model that it tries, because only llm-proxy knows the models of a route.
 */
export const HISTORY_CHARACTERS = 4_000 * CHARACTERS_PER_TOKEN;

/** Passages in a prompt: at most 3,000 tokens, enough for eight of the longest passages with headings of 100 characters. */
const KNOWLEDGE_CHARACTERS = 3_000 * CHARACTERS_PER_TOKEN;

/** Returns as many passages as fit into a prompt. Expects the best passages first. */
export function selectPassagesForPrompt<T extends Passage>(passages: readonly T[]): T[] {
  return takeWithinBudget(passages, ({ heading, text }) => heading.length + text.length, KNOWLEDGE_CHARACTERS);
}

/** Returns the longest prefix of `items` whose total length is at most `characters`. */
export function takeWithinBudget<T>(items: readonly T[], lengthOf: (item: T) => number, characters: number): T[] {
  const kept: T[] = [];
  let used = 0;
  for (const item of items) {
    used += lengthOf(item);
    if (used > characters) break;
    kept.push(item);
  }
  return kept;
}
