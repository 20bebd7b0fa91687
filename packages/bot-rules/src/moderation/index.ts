export { normalise } from "./normalise.ts";
export { compilePattern, type Matcher, moderate, type Pattern, type Verdict } from "./pattern.ts";
export { ReplyFilter, type ReplyPattern, requireReplyPattern } from "./reply-filter.ts";
