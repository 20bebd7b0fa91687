import { estimateTokens } from "../tokens/index.ts";

const MARKER = "\n[…]\n";
const MARKER_TOKENS = 4;
/** Each attempt removes what the estimate is too large by, and the estimate depends on which part is left. */
const MAX_ATTEMPTS = 8;

/** Returns the text with at most about `maxTokens` tokens, by the estimate. Replaces the middle of a longer text with a marker. */
export function shortenMiddle(text: string, maxTokens: number): string {
  let tokens = estimateTokens(text);
  if (tokens <= maxTokens) return text;
  let kept = text.length;
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    kept = Math.floor((kept * Math.max(0, maxTokens - MARKER_TOKENS)) / tokens);
    const shortened = keepEnds(text, kept);
    tokens = estimateTokens(shortened);
    if (tokens <= maxTokens || kept === 0) return shortened;
  }
  return keepEnds(text, 0);
}

/** Keeps `length` UTF-16 code units in all, without halves of surrogate pairs. */
function keepEnds(text: string, length: number): string {
  const head = Math.ceil(length / 2);
  const start = text.slice(0, head).replace(/[\uD800-\uDBFF]$/, "");
  const end = text.slice(text.length - (length - head)).replace(/^[\uDC00-\uDFFF]/, "");
  return length === 0 ? MARKER.trim() : start + MARKER + end;
}
