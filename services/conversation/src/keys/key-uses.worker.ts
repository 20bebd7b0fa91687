import type { Database } from "@parley/service-kit";
import { storeKeyUses, type UsedKey } from "./key-uses.store.ts";

const HOUR_MS = 3_600_000;
const MAX_KEYS_PER_STATEMENT = 1_000;

/**
 * Stores the day of each key's last use in the background, so that the lookup of a key does not wait for a write. Ignores a key's uses for an
 * hour after storing one. If that hour includes midnight, uses in the first hour of the new day may be missed. Uses that are not stored when
 * the process ends are lost.
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

  add(key: UsedKey): void {
    if (!this.#storedAtMs.has(key.publicKey)) this.#pending.set(key.publicKey, { ...key, usedAtMs: this.#nowMs() });
  }

  /** Stores the uses since the last call. Uses of keys whose rows are locked, and uses that a failed call did not store, stay for the next call. */
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
