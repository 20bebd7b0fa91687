import type { RE2JS } from "re2js";

/** An instruction of the program that re2js makes of a pattern; see its class Inst. */
export type Instruction = { op: number; out: number; arg: number; runes: ArrayLike<number> };

export type Program = { inst: readonly Instruction[]; start: number };

/**
 * Returns the program of a pattern. re2js does not document the field, `re2Input.prog`: package.json pins its exact version, and
 * program.test.ts fails when the field changes. Throws an Error if it is not as known.
 */
export function programOf(compiled: RE2JS): Program {
  const { prog } = compiled.re2Input as unknown as { prog?: Partial<Program> };
  if (prog?.inst === undefined || prog.start === undefined) throw new Error("the pattern cannot be measured");
  return { inst: prog.inst, start: prog.start };
}
