import type { Database } from "./database.ts";

const CACHE_MS = 1_000;

/** Returns a function that checks whether the database answers. It reuses a result for one second. */
export function createReadinessProbe(database: Database): () => Promise<boolean> {
  let checkedAt = Number.NEGATIVE_INFINITY;
  let result: Promise<boolean> = Promise.resolve(false);
  return () => {
    const now = performance.now();
    if (now - checkedAt > CACHE_MS) {
      checkedAt = now;
      result = database.query("SELECT 1").then(
        () => true,
        () => false,
      );
    }
    return result;
  };
}
