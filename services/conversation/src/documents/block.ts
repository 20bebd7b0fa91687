/** A paragraph, list item, table row or code block, with the headings of its section. */
export type Block = {
  /** Outermost first. */
  headings: readonly string[];
  text: string;
};
