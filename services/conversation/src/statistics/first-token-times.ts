/** Upper bounds of the histogram buckets of first-token times, in milliseconds. One more bucket counts all longer times. */
export const FIRST_TOKEN_BOUNDS_MS = [125, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000] as const;

/**
 * Returns the time in milliseconds within which a share of the replies had their first token; undefined without replies. Interpolates
 * linearly within a bucket. Returns at most the last bound.
 * @param share from 0 to 1
 */
export function quantileMs(counts: readonly number[], share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let remaining = share * total;
  for (const [index, count] of counts.entries()) {
    const [lower, upper] = [index === 0 ? 0 : FIRST_TOKEN_BOUNDS_MS[index - 1], FIRST_TOKEN_BOUNDS_MS[index]];
    if (lower === undefined || upper === undefined) break;
    if (count > 0 && remaining <= count) return Math.round(lower + (upper - lower) * (remaining / count));
    remaining -= count;
  }
  return FIRST_TOKEN_BOUNDS_MS.at(-1);
}
