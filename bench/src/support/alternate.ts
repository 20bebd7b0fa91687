import { mean } from "./statistics.ts";

/**
 * Measures the variants in turn, `alternations` times each, so that changes in the machine's speed affect all of them. A variant returns a
 * list of numbers, such as the CPU time of each process. For each variant, returns the mean of the numbers at each position.
 */
export async function measureAlternately(
  alternations: number,
  variants: readonly (() => Promise<number[]>)[],
): Promise<number[][]> {
  const results: number[][][] = variants.map(() => []);
  for (let alternation = 0; alternation < alternations; alternation++)
    for (const [index, variant] of variants.entries()) results[index]?.push(await variant());
  return results.map(transpose).map((columns) => columns.map(mean));
}

/**
 * Measures `measured` and `basis` in pairs, each as the first one of every second pair, and returns the ratios. `report` gets a text about each pair.
 */
export async function measurePairs(
  pairs: number,
  { measured, basis }: { measured: () => Promise<number>; basis: () => Promise<number> },
  report: (line: string) => void,
): Promise<number[]> {
  const ratios: number[] = [];
  for (let pair = 1; pair <= pairs; pair++) {
    const isFirst = pair % 2 === 0;
    const before = isFirst ? await measured() : undefined;
    const basisValue = await basis();
    const value = before ?? (await measured());
    ratios.push(value / basisValue);
    report(`pair ${pair} of ${pairs}: ${value.toFixed(2)} ms, without ${basisValue.toFixed(2)} ms`);
  }
  return ratios;
}

/** Transposes lists of equal length. */
export function transpose(lists: readonly (readonly number[])[]): number[][] {
  return (lists[0] ?? []).map((_, column) => lists.map((list) => list[column] ?? Number.NaN));
}
