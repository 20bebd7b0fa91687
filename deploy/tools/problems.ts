/** What a check found, a line each; none when all is well. */
export type Problems = readonly string[];

export type SourceFile = {
  /** From the top of the repository, with forward slashes. */
  path: string;
  text: string;
};
