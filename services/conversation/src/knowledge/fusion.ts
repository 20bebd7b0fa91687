/** The constant `k` of reciprocal rank fusion: 60 as in the paper that introduced it. A larger value favours the first ranks less. */
const RANK_CONSTANT = 60;

/**
 * Merges lists that are sorted best first: an item's score is the sum of 1 / (k + rank) over the lists that contain it. Items with equal
 * scores keep the order of the lists. An item in several lists gets its fields from all of them.
 */
export function fuseRankings<T extends { id: number }>(lists: readonly (readonly T[])[]): (T & { score: number })[] {
  const fused = new Map<number, T & { score: number }>();
  for (const list of lists)
    for (const [index, item] of list.entries()) {
      const earlier = fused.get(item.id);
      const score = (earlier?.score ?? 0) + 1 / (RANK_CONSTANT + index + 1);
      fused.set(item.id, { ...earlier, ...item, score });
    }
  return [...fused.values()].sort((one, other) => other.score - one.score);
}
