export { isQuestion } from "./is-question.ts";
export { detectSmallTalk, type SmallTalkKind } from "./small-talk.ts";
