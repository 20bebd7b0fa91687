/** Observations of a histogram by the upper bound of their bucket, cumulative, as Prometheus counts them. */
export type Buckets = ReadonlyMap<number, number>;

/**
 * A quantile, interpolated within its bucket as Prometheus does; undefined when nothing was observed. Beyond the last finite bound that
 * bound is all that is known.
 */
export function quantile(share: number, buckets: Buckets): number | undefined {
  const sorted = [...buckets].toSorted(([a], [b]) => a - b);
  const total = sorted.at(-1)?.[1] ?? 0;
  if (total <= 0) return undefined;
  const rank = share * total;
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
