/** A paragraph, list item, table row or code block, with the headings of its section. */
export type Block = {
  /** Outermost first. */
  headings: readonly string[];
  text: string;
};

/** Marks a text as code, so that a model and the search index can distinguish it from prose. */
export function fenceCode(code: string): string {
  return `\`\`\`\n${code}\n\`\`\``;
}
