import type { Pattern } from "@parley/rpc/conversation";

/** What a rule blocks. */
export type Expression = { kind: "words"; words: string[] } | { kind: "pattern"; pattern: string };

/** Splits at new lines and commas. */
export function splitWords(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

/** Returns the fields of a request that contain the expression. */
export function toFields(expression: Expression): { words: string[] } | { pattern: string } {
  return expression.kind === "words" ? { words: expression.words } : { pattern: expression.pattern };
}

export function isEmpty(expression: Expression): boolean {
  return expression.kind === "words" ? expression.words.length === 0 : expression.pattern === "";
}

/** The rule as its owner wrote it, on one line. */
export function describeRule({ words, pattern }: Pick<Pattern, "words" | "pattern">): string {
  return words.length > 0 ? words.join(", ") : pattern;
}
