// One piece a match, by kind; the order of the groups is that of the weights below.
const PIECES =
  /(\p{Script=Han})|([\p{Script=Hiragana}\p{Script=Katakana}])|(\p{Script=Hangul})|([a-zA-Z]+)(?!\p{L})|([\p{Script=Latin}\p{M}]+)|(\p{Script=Greek}+)|(\p{L}[\p{L}\p{M}]*)|(\p{N}{1,3})|(\p{Emoji_Presentation})|(\n+)|([^\s\p{L}\p{N}\p{M}])/gu;

// A piece costs `fixed`, or its length over `perToken`, whichever is more.
const WEIGHTS: readonly { fixed: number; perToken: number }[] = [
  { fixed: 0.8, perToken: Number.POSITIVE_INFINITY },
  { fixed: 0.7, perToken: Number.POSITIVE_INFINITY },
  { fixed: 0.7, perToken: Number.POSITIVE_INFINITY },
  { fixed: 1, perToken: 7 },
  { fixed: 1, perToken: 4 },
  { fixed: 1, perToken: 2.5 },
  { fixed: 1, perToken: 4 },
  { fixed: 1, perToken: Number.POSITIVE_INFINITY },
  { fixed: 1.6, perToken: Number.POSITIVE_INFINITY },
  { fixed: 0.5, perToken: Number.POSITIVE_INFINITY },
  { fixed: 0.65, perToken: Number.POSITIVE_INFINITY },
];

/**
 * About how many tokens a text has, for replies whose provider gives no count and whose model's vocabulary is not published, or not
 * loaded yet. Weighed by script against the o200k_base vocabulary: within a third of it on prose, code and tables in every script
 * tried. It is linear in the text, where a tokenizer can be held up by one long run of a letter.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  for (const match of text.matchAll(PIECES)) {
    const kind = match.findIndex((group, index) => index > 0 && group !== undefined) - 1;
    const { fixed = 0, perToken = 1 } = WEIGHTS[kind] ?? {};
    tokens += Math.max(fixed, match[0].length / perToken);
  }
  return Math.ceil(tokens);
}
