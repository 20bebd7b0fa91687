export type { Block } from "./blocks/block.ts";
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
export { toUtf8 } from "./media-type.ts";
export { isCrawlableLink, USER_AGENT } from "./pages/page-link.ts";
export {
  type ParsedDocument,
  type RawDocument,
  type ReadLinks,
  readDocument,
  readSitemap,
} from "./reader-process/read-document.client.ts";
export { notText, requireValidContent } from "./valid-content.ts";
export { detectLanguage } from "./words/detect-language.store.ts";
export { LANGUAGES, type LanguageName, parseLanguage } from "./words/language.ts";
export type { Spelling } from "./words/spellings.ts";
export { tokenize, tokenizeWithSpellings } from "./words/tokenize.ts";
