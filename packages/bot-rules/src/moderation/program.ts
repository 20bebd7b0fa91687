import type { RE2JS } from "re2js";

/** See re2js's class Inst. */
export type Instruction = { op: number; out: number; arg: number; runes: ArrayLike<number> };

/** The instructions to which re2js compiles a pattern. `start` is the index of the first one to run. */
export type Program = { inst: readonly Instruction[]; start: number };

/**
 * Returns the program of a compiled pattern. re2js does not document the field `re2Input.prog`, so package.json pins re2js's exact version.
 * Throws if the field or its `inst` or `start` is missing.
 */
export function readProgram(compiled: RE2JS): Program {
  const { prog } = compiled.re2Input as unknown as { prog?: Partial<Program> };
  if (prog?.inst === undefined || prog.start === undefined)
    throw new Error("the compiled pattern has no readable program");
  return { inst: prog.inst, start: prog.start };
}
