/** Tokens are reckoned at four characters each, which is close for English and errs on the safe side for code. */
const CHARACTERS_PER_TOKEN = 4;

/** How much of the conversation so far a prompt may hold: 2,000 tokens. */
export const HISTORY_CHARACTERS = 2_000 * CHARACTERS_PER_TOKEN;

/** How much of the bot's knowledge a prompt may hold: 3,000 tokens, eight of the largest chunks. */
export const KNOWLEDGE_CHARACTERS = 3_000 * CHARACTERS_PER_TOKEN;

/** The first items, in their order, whose lengths together stay within `characters`. */
export function withinBudget<T>(items: readonly T[], lengthOf: (item: T) => number, characters: number): T[] {
  const kept: T[] = [];
  let used = 0;
  for (const item of items) {
    used += lengthOf(item);
    if (used > characters) break;
    kept.push(item);
  }
  return kept;
}
