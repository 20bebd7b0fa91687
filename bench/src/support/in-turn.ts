import { mean } from "./statistics.ts";

/**
 * Measures each side `slices` times, one after the other again and again, and resolves with the mean of each figure of each: what a
 * machine is worth changes from one half-minute to the next, and is to fall on all alike.
 */
export async function inTurn(slices: number, sides: readonly (() => Promise<number[]>)[]): Promise<number[][]> {
  const figures: number[][][] = sides.map(() => []);
  for (let slice = 0; slice < slices; slice++)
    for (const [index, side] of sides.entries()) figures[index]?.push(await side());
  return figures.map(byPlace).map((places) => places.map(mean));
}

/** Of several lists of equal length all the first figures, all the second ones, and so on. */
export function byPlace(lists: readonly (readonly number[])[]): number[][] {
  return (lists[0] ?? []).map((_, place) => lists.map((list) => list[place] ?? Number.NaN));
}
