/** How little the very first places count beside the next ones; the value that the method was published with. */
const K = 60;

/**
 * Joins lists of things, each best first, into one by reciprocal rank fusion: a thing counts 1 / (60 + its place) in each list that has it. Of
 * two that count the same, the one of the earlier list comes first.
 */
export function fuse<T extends { id: number }>(lists: readonly (readonly T[])[]): T[] {
  const scored = new Map<number, { item: T; score: number }>();
  for (const list of lists)
    for (const [index, item] of list.entries()) {
      const known = scored.get(item.id) ?? { item, score: 0 };
      known.score += 1 / (K + index + 1);
      scored.set(item.id, known);
    }
  return [...scored.values()].sort((one, other) => other.score - one.score).map(({ item }) => item);
}
