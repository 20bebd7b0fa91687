/** The constant `k` of reciprocal rank fusion. 60 is the value of its first publication; a larger value favours the first ranks less. */
const RANK_CONSTANT = 60;

/**
 * Merges ranked lists, best first, by reciprocal rank fusion: an item's score is the sum of 1 / (60 + rank) over the lists that contain
 * it. Items with equal scores keep the order of the lists. An item of several lists has the fields of all of them.
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
