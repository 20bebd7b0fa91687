import { mean } from "./statistics.ts";

/**
 * Measures the sides in turn, `alternations` times each, so that changes in the machine's speed affect all sides. A side returns a list of
 * figures. Returns for each side the means of its figures.
 */
export async function alternate(
  alternations: number,
  sides: readonly (() => Promise<number[]>)[],
): Promise<number[][]> {
  const figures: number[][][] = sides.map(() => []);
  for (let alternation = 0; alternation < alternations; alternation++)
    for (const [index, side] of sides.entries()) figures[index]?.push(await side());
  return figures.map(transpose).map((columns) => columns.map(mean));
}

/** Transposes lists of equal length: returns the list of all first figures, the list of all second figures, and so on. */
export function transpose(lists: readonly (readonly number[])[]): number[][] {
  return (lists[0] ?? []).map((_, column) => lists.map((list) => list[column] ?? Number.NaN));
}
