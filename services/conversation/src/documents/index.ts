export type { Block } from "./block.ts";
export { toChunks } from "./chunking.ts";
export { detectLanguage } from "./detect-language.store.ts";
export { documentBlocks, FORMATS, type Format, type TextFormat } from "./document.ts";
export { type FetchedDocument, fetchDocument } from "./fetch-document.client.ts";
export { type IndexedDocument, indexDocument } from "./index-document.ts";
export { LANGUAGES, type LanguageName, parseLanguage } from "./language.ts";
export { searchWords } from "./search-words.ts";
