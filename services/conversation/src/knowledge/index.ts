export { findKnowledge } from "./find-knowledge.service.ts";
export { readPassages } from "./knowledge-search.store.ts";
export type { Meanings } from "./semantic-search.service.ts";
export { searchKnowledge } from "./word-search.service.ts";
