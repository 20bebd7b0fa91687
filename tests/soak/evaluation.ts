const MIB = 1024 * 1024;
/** Growth after warm-up that the garbage collector's timing can explain. */
const MAX_GROWTH_MIB = 12;

/** Samples of a service's resident memory: [milliseconds since the start, bytes]. */
export type Samples = readonly (readonly [atMs: number, bytes: number])[];

export type Growth = {
  /** Slope of the least-squares line. */
  mibPerHour: number;
  /** Rise of that line from the first sample after warm-up to the last. */
  mib: number;
  isFlat: boolean;
};

/** Measures how a service's memory grew after `warmUpMs`. */
export function measureGrowth(samples: Samples, warmUpMs: number): Growth {
  const warm = samples.filter(([atMs]) => atMs >= warmUpMs);
  const [first, last] = [warm[0], warm.at(-1)];
  if (first === undefined || last === undefined || first === last)
    throw new Error(`only ${warm.length} memory samples after warm-up: run for longer`);
  const bytesPerMs = slope(warm);
  const mib = (bytesPerMs * (last[0] - first[0])) / MIB;
  return { mibPerHour: round((bytesPerMs * 3_600_000) / MIB), mib: round(mib), isFlat: mib <= MAX_GROWTH_MIB };
}

function slope(points: Samples): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  return mean(points.map(([x, y]) => (x - meanX) * (y - meanY))) / mean(points.map(([x]) => (x - meanX) ** 2));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Returns a message for each count that is not 0, and for each service whose growth is not flat. */
export function findFailures(
  counts: Readonly<Record<string, number>>,
  growths: Readonly<Record<string, Growth>>,
): string[] {
  const nonZero = Object.entries(counts).filter(([, count]) => count !== 0);
  const growing = Object.entries(growths).filter(([, { isFlat }]) => !isFlat);
  return [
    ...nonZero.map(([name, count]) => `${name}: ${count}, not 0`),
    ...growing.map(([name, { mib }]) => `${name} grew by ${mib} MiB, more than ${MAX_GROWTH_MIB}`),
  ];
}
