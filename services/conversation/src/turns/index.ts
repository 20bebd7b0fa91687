export { selectPassagesForPrompt } from "./budget.ts";
export {
  type ClosedTurn,
  LONGEST_TRANSACTION_SECONDS,
  type MessageSource,
  type NotifySettler,
  type QueuedSettlement,
  RECORD_CLOSED_TURNS,
  RECORD_CLOSED_TURNS_FOR_EDGE,
  SELECT_CLOSED_TURNS,
  type Settlement,
  WITHOUT_REPLY,
} from "./close-turn.store.ts";
export { chooseMessageId } from "./message-ids.ts";
export { toSourceMessages } from "./message-sources.ts";
export type { KnowledgeMatches, Passage, PromptTerm } from "./prompt.ts";
export { IS_ANSWERED, IS_CITED, IS_DECLINED, IS_FOUND_BUT_DECLINED, IS_UNANSWERED } from "./unanswered-sql.ts";
