export type { Candidate } from "./acceptance.ts";
export { type MessagePatterns, messagePatterns, moderate, patternsJson } from "./moderate.ts";
export { type Pattern, PatternRefused, type Verdict } from "./pattern.ts";
export { PatternThreadPool } from "./pattern-thread-pool.ts";
export { ReplyFilter } from "./reply-filter.ts";
