/** True in `pnpm test:full`. */
export const isFull = process.env.PARLEY_TEST_FULL === "1";

/** Returns `full`, which the documents promise, in `pnpm test:full`, and the smaller `quick` in every other run. */
export function quickOrFull(quick: number, full: number): number {
  return isFull ? full : quick;
}
