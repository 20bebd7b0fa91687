/** Returns the item at `index` modulo the number of items. Throws if there are none. */
export function pickByIndex<T>(items: readonly T[], index: number): T {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}

/** Returns the items in random order. */
export function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ item }) => item);
}
