/** A paragraph, list item, table row or piece of code, under the headings that stand above it. */
export type Block = {
  /** Outermost first. */
  headings: readonly string[];
  text: string;
};
