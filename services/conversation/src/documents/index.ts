export type { Block } from "./block.ts";
export { detectLanguage } from "./detect-language.store.ts";
export { FORMATS, type Format } from "./document.ts";
export { DocumentQueue } from "./document-queue.ts";
export { fetchDocument } from "./fetch-document.client.ts";
export type { IndexedChunk, IndexedDocument } from "./index-document.ts";
export { LANGUAGES, type LanguageName, parseLanguage } from "./language.ts";
export { type RawDocument, readDocument } from "./read-document.client.ts";
export { tokenize } from "./tokenize.ts";
