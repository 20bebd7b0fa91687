/**
 * The calls under way on a stream, by their ids. A Map of them would do, but for this: the tables that a Map outgrows lead from one to the
 * next, each with the calls of its time, and once one has grown old, V8's collections of young garbage keep all that come after it. So
 * its entries are emptied when they are removed.
 */
export class PendingCalls<Call> {
  readonly #entries = new Map<number, { call: Call | undefined }>();

  get size(): number {
    return this.#entries.size;
  }

  ids(): number[] {
    return [...this.#entries.keys()];
  }

  get(id: number): Call | undefined {
    return this.#entries.get(id)?.call;
  }

  add(id: number, call: Call): void {
    this.#entries.set(id, { call });
  }

  /** Removes a call and gives it; undefined when there is none of that id. */
  remove(id: number): Call | undefined {
    const entry = this.#entries.get(id);
    if (entry === undefined) return undefined;
    this.#entries.delete(id);
    const { call } = entry;
    entry.call = undefined;
    return call;
  }
}
