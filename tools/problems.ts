/** The problems that a check found. A problem is usually one line, but the output of a failed tool is one problem of several lines. */
export type Problems = readonly string[];

export type SourceFile = {
  /** Relative to the repository root, with forward slashes. */
  path: string;
  text: string;
};

/** Thrown by a check that could not run for a reason outside the repository, such as a missing network. */
export class NotCheckedError extends Error {}
