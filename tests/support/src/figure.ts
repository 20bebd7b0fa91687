/** Whether the full figures are asked for. */
export const isFull = process.env.PARLEY_TEST_FULL === "1";

/** The full figure of a promise in `pnpm test:full`, a smaller one in `pnpm test`. */
export function figure(short: number, full: number): number {
  return isFull ? full : short;
}
