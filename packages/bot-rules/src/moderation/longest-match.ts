import type { RE2JS } from "re2js";
import { type Instruction, programOf } from "./program.ts";

const OP = { alt: 1, altMatch: 2, capture: 3, emptyWidth: 4, fail: 5, match: 6, nop: 7 } as const;
const LAST_OF_THE_BASIC_PLANE = 0xffff;

/**
 * How many UTF-16 units a match of a pattern has at most; Infinity when it may go on for ever. It is the longest way through the
 * pattern's program. Throws when the program is not as known.
 */
export function longestMatch(compiled: RE2JS): number {
  const { inst: instructions, start } = programOf(compiled);
  const known = new Map<number, number>();

  /** The longest way from here to a match; no way at all is -Infinity. A way back to where it came from is a loop, and has no end. */
  function longestFrom(at: number, way: ReadonlySet<number>): number {
    const seen = known.get(at);
    if (seen !== undefined) return seen;
    if (way.has(at)) return Number.POSITIVE_INFINITY;
    const instruction = instructions[at];
    if (instruction === undefined) throw new Error("the pattern cannot be measured");
    const rest = (to: number) => longestFrom(to, new Set(way).add(at));
    const length = measure(instruction, rest);
    known.set(at, length);
    return length;
  }
  return Math.max(0, longestFrom(start, new Set()));
}

function measure({ op, out, arg, runes }: Instruction, rest: (to: number) => number): number {
  switch (op) {
    case OP.fail:
      return Number.NEGATIVE_INFINITY;
    case OP.match:
      return 0;
    case OP.alt:
    case OP.altMatch:
      return Math.max(rest(out), rest(arg));
    case OP.capture:
    case OP.emptyWidth:
    case OP.nop:
      return rest(out);
    default:
      return rest(out) + (isWide(runes) ? 2 : 1);
  }
}

/** Whether what an instruction reads may take two units; one that lists no characters reads any. */
function isWide(runes: ArrayLike<number>): boolean {
  return runes.length === 0 || Array.from(runes).some((rune) => rune > LAST_OF_THE_BASIC_PLANE);
}
