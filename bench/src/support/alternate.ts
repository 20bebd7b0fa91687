import { mean } from "./statistics.ts";

/**
 * Measures the variants alternately, `alternations` times each, so that changes in the machine's speed affect all of them. A measurement returns
 * a list of numbers, such as the CPU time of each process. Returns the means of these numbers for each variant.
 */
export async function alternate(
  alternations: number,
  variants: readonly (() => Promise<number[]>)[],
): Promise<number[][]> {
  const results: number[][][] = variants.map(() => []);
  for (let alternation = 0; alternation < alternations; alternation++)
    for (const [index, variant] of variants.entries()) results[index]?.push(await variant());
  return results.map(transpose).map((columns) => columns.map(mean));
}

/** Transposes lists of equal length: returns the list of all first results, the list of all second results, and so on. */
export function transpose(lists: readonly (readonly number[])[]): number[][] {
  return (lists[0] ?? []).map((_, column) => lists.map((list) => list[column] ?? Number.NaN));
}
