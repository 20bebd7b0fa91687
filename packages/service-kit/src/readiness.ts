import type { Database } from "./database.ts";

const CACHE_MS = 1_000;

/** A probe that asks the database at most once a second. */
export function createReadinessProbe(database: Database): () => Promise<boolean> {
  let asked = Number.NEGATIVE_INFINITY;
  let answer: Promise<boolean> = Promise.resolve(false);
  return () => {
    const now = performance.now();
    if (now - asked > CACHE_MS) {
      asked = now;
      answer = database.query("SELECT 1").then(
        () => true,
        () => false,
      );
    }
    return answer;
  };
}
