/** The constant `k` of reciprocal rank fusion; 60 is the value of its first publication. Larger values favour the first ranks less. */
const RANK_CONSTANT = 60;

/**
 * Merges ranked lists, best first, by reciprocal rank fusion: an item's score is the sum of 1 / (60 + rank) over the lists that contain
 * it. Items with equal scores keep the order of the lists.
 */
export function fuseRankings<T extends { id: number }>(lists: readonly (readonly T[])[]): T[] {
  const scored = new Map<number, { item: T; score: number }>();
  for (const list of lists)
    for (const [index, item] of list.entries()) {
      const entry = scored.get(item.id) ?? { item, score: 0 };
      entry.score += 1 / (RANK_CONSTANT + index + 1);
      scored.set(item.id, entry);
    }
  return [...scored.values()].sort((one, other) => other.score - one.score).map(({ item }) => item);
}
