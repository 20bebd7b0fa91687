export { searchHybrid } from "./hybrid-search.service.ts";
export { readPassages } from "./knowledge-search.store.ts";
export type { SemanticSearch } from "./semantic-search.service.ts";
export { searchByWords } from "./word-search.service.ts";
