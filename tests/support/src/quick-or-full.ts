/** Whether this is a run of `pnpm test:full`. */
export const isFull = process.env.PARLEY_TEST_FULL === "1";

/** Returns `full` in `pnpm test:full`, and the smaller `quick` in every other run. The documents promise the size `full`. */
export function quickOrFull(quick: number, full: number): number {
  return isFull ? full : quick;
}
