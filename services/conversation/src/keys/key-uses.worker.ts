import type { Database } from "@parley/service-kit";
import { storeKeyUses, type UsedKey } from "./key-uses.store.ts";

const HOUR_MS = 3_600_000;
const MAX_KEYS_PER_STATEMENT = 1_000;

/**
 * Collects the keys that browsers use, and stores the day of their last use in the background. So the lookup of a key does not wait for a
 * write. A process stores a key's use at most once an hour. So if it stored one shortly before midnight, it may miss a use in the first hour of
 * the new day. A process that ends loses the uses that it has not stored.
 */
export class KeyUses {
  readonly #database: Database;
  readonly #nowMs: () => number;
  readonly #pending = new Map<string, UsedKey & { usedAtMs: number }>();
  /** When each key's use was last stored, if that was within the last hour. */
  readonly #storedAtMs = new Map<string, number>();

  constructor(database: Database, nowMs: () => number = () => performance.now()) {
    this.#database = database;
    this.#nowMs = nowMs;
  }

  /** Records that a key was used. Costs no I/O. */
  add(key: UsedKey): void {
    if (!this.#storedAtMs.has(key.publicKey)) this.#pending.set(key.publicKey, { ...key, usedAtMs: this.#nowMs() });
  }

  /** Stores the uses since the last run. The next run stores the uses of locked keys, and of a run that failed. */
  async store(): Promise<void> {
    const nowMs = this.#nowMs();
    for (const [publicKey, storedAtMs] of this.#storedAtMs)
      if (nowMs - storedAtMs >= HOUR_MS) this.#storedAtMs.delete(publicKey);
    const pending = [...this.#pending.values()];
    for (let start = 0; start < pending.length; start += MAX_KEYS_PER_STATEMENT) {
      const keys = pending.slice(start, start + MAX_KEYS_PER_STATEMENT);
      const uses = keys.map(({ usedAtMs, ...key }) => ({ ...key, ageSeconds: (nowMs - usedAtMs) / 1_000 }));
      const locked = new Set(await storeKeyUses(this.#database, uses));
      for (const { publicKey } of keys.filter((key) => !locked.has(key.publicKey))) {
        this.#pending.delete(publicKey);
        this.#storedAtMs.set(publicKey, nowMs);
      }
    }
  }
}
