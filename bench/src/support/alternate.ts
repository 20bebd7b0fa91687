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

/** Transposes lists of equal length. */
export function transpose(lists: readonly (readonly number[])[]): number[][] {
  return (lists[0] ?? []).map((_, column) => lists.map((list) => list[column] ?? Number.NaN));
}
