/** True in `pnpm test:full`. */
export const isFullRun = process.env.PARLEY_TEST_FULL === "1";

/** Returns `full` in `pnpm test:full`, and `quick` in every other run. */
export function quickOrFull(quick: number, full: number): number {
  return isFullRun ? full : quick;
}
