/** True in `pnpm test:full`. */
export const isFullRun = process.env.PARLEY_TEST_FULL === "1";

/** Returns `full` in `pnpm test:full`, and `quick` in every other run. */
export function quickOrFull<Value>(quick: Value, full: Value): Value {
  return isFullRun ? full : quick;
}
