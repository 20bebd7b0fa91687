export type { Candidate } from "./acceptance.ts";
export { type MessagePatterns, messagePatterns, moderate, patternsJson } from "./moderate.ts";
export { type Pattern, PatternRefused, type Verdict } from "./pattern.ts";
export { PatternThreads } from "./pattern-threads.ts";
export { ReplyFilter } from "./reply-filter.ts";
