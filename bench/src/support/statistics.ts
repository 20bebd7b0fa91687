/** Returns a percentile by the nearest-rank method; 0 if there are no values. */
export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.ceil((percent / 100) * sorted.length) - 1)] ?? 0;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}

/**
 * Returns a confidence interval of the median, for values of any distribution: the values whose ranks are 1.96 × √n ÷ 2 below and above the
 * middle rank. The nominal confidence level is 95 %. With 5 or more values, the actual level is at least 92 %.
 */
export function medianInterval(values: readonly number[]): [low: number, high: number] {
  const sorted = [...values].sort((a, b) => a - b);
  const rank = Math.max(0, Math.floor((sorted.length - 1.96 * Math.sqrt(sorted.length)) / 2));
  return [sorted[rank] ?? Number.NaN, sorted[sorted.length - 1 - rank] ?? Number.NaN];
}

export const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);
export const mean = (values: readonly number[]): number => sum(values) / values.length;
