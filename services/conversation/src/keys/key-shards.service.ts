import { findOnShards, type Shard } from "@parley/service-kit";
import { LRUCache } from "lru-cache";
import { parsePublicKey } from "./public-key.ts";

const MAX_KEYS = 100_000;

/** Finds keys on their shards. */
export class KeyShards {
  readonly #prefix: string;
  /** The shards of keys that do not name their shard. A key never changes its shard. */
  readonly #shardNumbers = new LRUCache<string, number>({ max: MAX_KEYS });

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /**
   * Returns the result of `find` on the key's shard; undefined for a text that is not a key. If the shard is not known, asks all shards. Throws if the
   * shard, or one that may be it, fails.
   */
  async find<T>(
    shards: readonly Shard[],
    publicKey: string,
    find: (shard: Shard) => Promise<T | undefined>,
  ): Promise<T | undefined> {
    const key = parsePublicKey(this.#prefix, publicKey);
    if (key === undefined) return undefined;
    const number = shards.length === 1 ? 0 : (key.shard ?? this.#shardNumbers.get(publicKey));
    if (number !== undefined) {
      const shard = shards[number];
      return shard && find(shard);
    }
    return findOnShards(shards, async (shard) => {
      const found = await find(shard);
      if (found !== undefined) this.#shardNumbers.set(publicKey, shard.number);
      return found;
    });
  }
}
