import type { RE2JS } from "re2js";
import { type Instruction, readProgram } from "./program.ts";

/** Operation codes from re2js's class Inst. All other codes read one character. */
const OP = { alt: 1, altMatch: 2, capture: 3, emptyWidth: 4, fail: 5, match: 6, nop: 7 } as const;
const MAX_BMP_CODE_POINT = 0xffff;

/**
 * Returns the length in UTF-16 units of a pattern's longest match, or Infinity if there is no bound. Throws if re2js's program has an
 * unexpected structure.
 */
export function computeMaxMatchLength(compiled: RE2JS): number {
  const { inst: instructions, start } = readProgram(compiled);
  const lengths = new Map<number, number>();

  /** Returns the length of the longest path from an instruction to `match`: -Infinity without a path, Infinity with a loop. */
  function longestFrom(index: number): number {
    const known = lengths.get(index);
    if (known !== undefined) return known;
    const instruction = instructions[index];
    if (instruction === undefined) throw new Error("the pattern cannot be measured");
    // If measuring the instruction reaches it again, the path has a loop.
    lengths.set(index, Number.POSITIVE_INFINITY);
    const length = measure(instruction, longestFrom);
    lengths.set(index, length);
    return length;
  }
  return Math.max(0, longestFrom(start));
}

function measure({ op, out, arg, runes }: Instruction, longestFrom: (index: number) => number): number {
  switch (op) {
    case OP.fail:
      return Number.NEGATIVE_INFINITY;
    case OP.match:
      return 0;
    case OP.alt:
    case OP.altMatch:
      return Math.max(longestFrom(out), longestFrom(arg));
    case OP.capture:
    case OP.emptyWidth:
    case OP.nop:
      return longestFrom(out);
    default:
      return longestFrom(out) + (isWide(runes) ? 2 : 1);
  }
}

/** Whether an instruction may read a character of two UTF-16 units. If `runes` is empty, it reads any character. */
function isWide(runes: ArrayLike<number>): boolean {
  return runes.length === 0 || Array.from(runes).some((rune) => rune > MAX_BMP_CODE_POINT);
}
