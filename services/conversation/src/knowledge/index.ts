export { type FoundPassage, type HybridMatches, searchHybrid } from "./hybrid-search.service.ts";
export { type BotKnowledge, readPassages } from "./knowledge-search.store.ts";
export { SemanticSearch } from "./semantic-search.service.ts";
export { QUESTION_WORDS } from "./word-boosts.ts";
export { searchByWords } from "./word-search.service.ts";
