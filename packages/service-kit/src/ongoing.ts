/**
 * What is under way in a process, in no order. A Set would do, but for this: the tables that it outgrows lead from one to the next, each
 * with what was under way at its time. Once one of them has grown old, V8's collections of young garbage keep all that come after it, and
 * with them nearly everything that was ever under way, until the next full collection.
 */
export class Ongoing<Item> {
  readonly #places: { item: Item; index: number }[] = [];

  get size(): number {
    return this.#places.length;
  }

  /** Adds an item; what it gives back removes it, once. */
  add(item: Item): () => void {
    const places = this.#places;
    const place = { item, index: places.length };
    places.push(place);
    return () => {
      if (places[place.index] !== place) return;
      const last = places.pop();
      if (last === undefined || last === place) return;
      places[place.index] = last;
      last.index = place.index;
    };
  }

  /** Those under way now, whatever is added or removed meanwhile. */
  [Symbol.iterator](): ArrayIterator<Item> {
    return this.#places.map(({ item }) => item).values();
  }
}
