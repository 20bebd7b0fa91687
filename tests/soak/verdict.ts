const MIB = 1024 * 1024;
/** By how much a service may seem to grow between warm-up and end: a collector's mood, not a leak. */
const MAX_GROWTH_MIB = 12;

/** What a service's resident memory was: [milliseconds since the start, bytes]. */
export type Samples = readonly (readonly [atMs: number, bytes: number])[];

export type Growth = {
  /** The slope of the least squares' line. */
  mibAnHour: number;
  /** By how much that line rises over the time that was looked at. */
  mib: number;
  isFlat: boolean;
};

/** How a service's memory went on after `warmUpMs`. */
export function growth(samples: Samples, warmUpMs: number): Growth {
  const warm = samples.filter(([atMs]) => atMs >= warmUpMs);
  const [first, last] = [warm[0], warm.at(-1)];
  if (first === undefined || last === undefined || first === last)
    throw new Error(`memory was looked at ${warm.length} times after warm-up: run for longer`);
  const bytesAMs = slope(warm);
  const mib = (bytesAMs * (last[0] - first[0])) / MIB;
  return { mibAnHour: round((bytesAMs * 3_600_000) / MIB), mib: round(mib), isFlat: mib <= MAX_GROWTH_MIB };
}

function slope(points: Samples): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const [meanX, meanY] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))];
  return mean(points.map(([x, y]) => (x - meanX) * (y - meanY))) / mean(points.map(([x]) => (x - meanX) ** 2));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** What a soak found, in words; none when it passed. */
export function verdict(counts: Readonly<Record<string, number>>, growths: Readonly<Record<string, Growth>>): string[] {
  const wrong = Object.entries(counts).filter(([, count]) => count !== 0);
  const growing = Object.entries(growths).filter(([, { isFlat }]) => !isFlat);
  return [
    ...wrong.map(([what, count]) => `${what}: ${count}, not 0`),
    ...growing.map(([name, { mib }]) => `${name} grew by ${mib} MiB, more than ${MAX_GROWTH_MIB}`),
  ];
}
