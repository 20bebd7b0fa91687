/** A paragraph, list item, table row or code block, with the headings of its section. */
export type Block = {
  /** Outermost first. */
  headings: readonly string[];
  text: string;
};

/** A code block may begin with this many backticks at most, so that a chunk has room for code. */
export const MAX_FENCE_CHARACTERS = 16;

/**
 * Marks a text as code, so that a model and the search index can distinguish it from prose. As in Markdown, the fence is longer than every fence
 * in the code, but it has at most MAX_FENCE_CHARACTERS.
 */
export function fenceCode(code: string): string {
  let length = 3;
  for (const [, fence = ""] of code.matchAll(/^[ \t]*(`{3,})/gm)) length = Math.max(length, fence.length + 1);
  const fence = "`".repeat(Math.min(length, MAX_FENCE_CHARACTERS));
  return `${fence}\n${code}\n${fence}`;
}
