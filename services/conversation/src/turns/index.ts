export { type ClosedTurn, RECORD_CLOSED, SELECT_CLOSED, type Settlement } from "./close-turn.store.ts";
export type { KnowledgeMatches, Passage, PromptTerm } from "./prompt.ts";
