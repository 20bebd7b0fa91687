export { selectPassagesForPrompt } from "./budget.ts";
export {
  type ClosedTurn,
  LONGEST_TRANSACTION_SECONDS,
  type NotifySettler,
  RECORD_CLOSED,
  RECORD_CLOSED_FOR_EDGE,
  SELECT_CLOSED,
  type Settlement,
} from "./close-turn.store.ts";
export type { KnowledgeMatches, Passage, PromptTerm } from "./prompt.ts";
