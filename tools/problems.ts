/** What a check found, a line each; none when all is well. */
export type Problems = readonly string[];

export type SourceFile = {
  /** From the top of the repository, with forward slashes. */
  path: string;
  text: string;
};

/** Thrown by a check that could not be made, in a way that is not the repository's fault: said loudly, and no ✓. */
export class NotChecked extends Error {}
