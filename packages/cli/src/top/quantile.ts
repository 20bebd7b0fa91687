/** Cumulative histogram counts by upper bound, as in Prometheus. */
export type Buckets = ReadonlyMap<number, number>;

/**
 * Estimates a quantile by linear interpolation within its bucket, as Prometheus does. Returns undefined if there are no observations. If
 * the quantile is above the last finite bound, returns that bound.
 */
export function estimateQuantile(quantile: number, buckets: Buckets): number | undefined {
  const sorted = [...buckets].toSorted(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const rank = quantile * total;
  let [lowerBound, lowerCount] = [0, 0];
  for (const [bound, count] of sorted) {
    if (count >= rank) {
      if (bound === Infinity) return lowerBound;
      const inBucket = count - lowerCount;
      return inBucket === 0 ? bound : lowerBound + ((bound - lowerBound) * (rank - lowerCount)) / inBucket;
    }
    [lowerBound, lowerCount] = [bound, count];
  }
  return lowerBound;
}
