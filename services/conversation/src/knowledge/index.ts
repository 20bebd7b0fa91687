export { type FoundPassage, type HybridMatches, searchHybrid } from "./hybrid-search.service.ts";
export { type NewSource, storeSource } from "./knowledge.store.ts";
export { createLimitsReader, type ReadKnowledgeLimits } from "./knowledge-limits.service.ts";
export type { KnowledgeLimits } from "./knowledge-limits.ts";
export { type BotKnowledge, readPassages } from "./knowledge-search.store.ts";
export { SemanticSearch } from "./semantic-search.service.ts";
export { QUESTION_WORDS } from "./word-boosts.ts";
export { searchByWords } from "./word-search.service.ts";
