/**
 * A Map for short-lived values that are added and removed all the time, such as pending calls. Keys must be primitives.
 *
 * A plain Map would keep removed values in memory until the next full garbage collection. V8 links each hash table that a Map outgrows to
 * the next one. Once one table is in the old generation, a minor collection keeps everything that the later tables refer to. The tables of
 * an ActiveMap refer to entries, which it empties on removal. This saving was part of a measured 10 % of a turn's CPU time
 * (docs/performance.md, 24). ActiveMap has only methods of Map, so `new Map` can replace it.
 */
export class ActiveMap<Key extends number | string, Value extends object> {
  readonly #entries = new Map<Key, { value: Value | undefined }>();

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: Key, value: Value): this {
    this.#entries.set(key, { value });
    return this;
  }

  delete(key: Key): boolean {
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.value = undefined;
    return this.#entries.delete(key);
  }

  *[Symbol.iterator](): Generator<[Key, Value]> {
    for (const [key, { value }] of this.#entries) if (value !== undefined) yield [key, value];
  }
}
