const MAX_INTERVALS = 4;

/** Returns the labels of an axis for counts from 0 to `largest`: round numbers at equal distances, the largest first, the last 0. */
export function axisTicks(largest: number): number[] {
  const step = findStep(Math.max(1, largest) / MAX_INTERVALS);
  const intervals = Math.ceil(Math.max(1, largest) / step);
  return Array.from({ length: intervals + 1 }, (_, index) => (intervals - index) * step);
}

/** Returns the smallest whole number of 1, 2 or 5 times a power of ten that is at least `minimum`. */
function findStep(minimum: number): number {
  for (let power = 1; ; power *= 10) {
    const step = [1, 2, 5].map((factor) => factor * power).find((each) => each >= minimum);
    if (step !== undefined) return step;
  }
}
