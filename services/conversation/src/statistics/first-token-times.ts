/** Upper bounds of the groups in which first-token times are counted, in milliseconds. A last group has all longer ones. */
export const FIRST_TOKEN_BOUNDS_MS = [125, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000] as const;

/**
 * Returns the time within which a share of the replies had its first token, interpolated within its group; undefined without replies. Times
 * beyond the last bound count as that bound.
 */
export function quantileMs(counts: readonly number[], share: number): number | undefined {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return undefined;
  let rest = share * total;
  for (const [index, count] of counts.entries()) {
    const [lower, upper] = [index === 0 ? 0 : FIRST_TOKEN_BOUNDS_MS[index - 1], FIRST_TOKEN_BOUNDS_MS[index]];
    if (lower === undefined || upper === undefined) break;
    if (count > 0 && rest <= count) return Math.round(lower + (upper - lower) * (rest / count));
    rest -= count;
  }
  return FIRST_TOKEN_BOUNDS_MS.at(-1);
}
