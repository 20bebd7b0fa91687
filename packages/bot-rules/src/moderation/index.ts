export type { PatternCandidate } from "./acceptance.ts";
export {
  findMatchingPatterns,
  type MessagePatterns,
  moderateMessage,
  prepareMessagePatterns,
  serializePatterns,
} from "./moderate.ts";
export { DEFAULT_FALLBACK, type Pattern, PatternRefusedError, type Verdict } from "./pattern.ts";
export { PatternThreadPool } from "./pattern-thread-pool.ts";
export { ReplyFilter } from "./reply-filter.ts";
export { compileWords, normaliseWord, parseWords } from "./words.ts";
