/** A paragraph, list item, table row or code block, with the headings of its section. */
export type Block = {
  /** Outermost first. */
  headings: readonly string[];
  text: string;
};

/** The most backticks in a code block's fence. Without a limit, a chunk might have no room for code. */
export const MAX_FENCE_CHARACTERS = 16;

/**
 * Puts code in a Markdown fence, so that a model and the search index can distinguish it from prose. The fence is longer than every fence in the
 * code, up to MAX_FENCE_CHARACTERS.
 */
export function fenceCode(code: string): string {
  let length = 3;
  for (const [, fence = ""] of code.matchAll(/^[ \t]*(`{3,})/gm)) length = Math.max(length, fence.length + 1);
  const fence = "`".repeat(Math.min(length, MAX_FENCE_CHARACTERS));
  return `${fence}\n${code}\n${fence}`;
}

/** Replaces each run of white space by one space. */
export function toOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}
