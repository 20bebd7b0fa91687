export type { Block } from "./block.ts";
export { detectLanguage } from "./detect-language.store.ts";
export type { Format } from "./document.ts";
export { DocumentFetcher } from "./document-fetcher.service.ts";
export { DocumentQueue } from "./document-queue.ts";
export {
  type FetchedPage,
  fetchFile,
  fetchPage,
  type PageValidators,
  statusError,
} from "./fetch-document.client.ts";
export type { IndexedChunk, IndexedDocument } from "./index-document.ts";
export { LANGUAGES, type LanguageName, parseLanguage } from "./language.ts";
export { toUtf8 } from "./media-type.ts";
export { isCrawlableLink, USER_AGENT } from "./page-link.ts";
export {
  type ParsedDocument,
  type RawDocument,
  type ReadLinks,
  readDocument,
  readSitemap,
} from "./read-document.client.ts";
export type { Spelling } from "./spellings.ts";
export { tokenize, tokenizeWithSpellings } from "./tokenize.ts";
export { notText, requireValidContent } from "./valid-content.ts";
