/** A class of a case-insensitive pattern takes as long to compile as so many instructions, because RE2 folds each of its characters. */
const FOLDED_CLASS_SIZE = 200;

/** The parts of a pattern that matter for its size. Other characters are one instruction each. */
const TOKEN =
  /\\Q(?<quoted>(?:[^\\]|\\(?!E))*)(?:\\E)?|\\[pP]\{[^}]*\}|\\[xu]\{[^}]*\}|\\.|(?<open>\((?:\?[^():]*:?)?)|(?<close>\))|\{(?<min>\d+)(?:,(?<max>\d*))?\}|(?<operator>[*+?|])|(?<class>\[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{[^}]*\}|\\.|[^\]\\])*\]?)|./gsu;

/**
 * Returns about the number of instructions to which a pattern compiles, without compiling it: RE2 writes a repeated part as often as it may
 * repeat, so compiling 16 KB such as `\pL{1000}\pL{1000}…` takes seconds. Without case-insensitive classes, at most about five times the real number.
 */
export function estimatePatternSize(pattern: string): number {
  /** The sizes of the open groups, the innermost last. */
  const groups: number[] = [];
  let size = 0;
  /** The size of the part that a repetition would repeat. */
  let last = 0;
  const classSize = /\(\?[a-zA-Z]*i/.test(pattern) ? FOLDED_CLASS_SIZE : 1;
  const add = (part: number) => {
    size += part;
    last = part;
  };
  for (const { groups: token = {} } of pattern.matchAll(TOKEN)) {
    const { quoted, open, close, min, max, operator, class: characterClass } = token;
    if (open !== undefined) {
      groups.push(size);
      size = 0;
    } else if (close !== undefined) {
      const inner = size + 2;
      size = groups.pop() ?? 0;
      add(inner);
    } else if (min !== undefined) {
      const count = Math.max(Number(min), Number(max || min), 1);
      size += last * (count - 1) + count;
      last = last * count + count;
    } else if (operator !== undefined) size += 1;
    else if (characterClass !== undefined) add(classSize);
    else add(quoted?.length ?? 1);
  }
  return groups.reduce((sum, each) => sum + each, size);
}
