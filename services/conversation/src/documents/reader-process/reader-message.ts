import type { Format } from "../document.ts";
import type { IndexedChunk, IndexedPiece } from "../index-document.ts";
import { UNREADABLE_REASONS, type UnreadableReason } from "./unreadable-error.ts";

/** Exit code of the reading process for a document that cannot be read. */
export const EXIT_CODE_UNREADABLE = 3;

/** A document of a crawled site. */
export type PageOptions = {
  url: string;
  /** The content hash of the stored text; empty if there is none. If the text has not changed, the reading process does not split and index it. */
  contentHash: string;
};

/** The line of JSON before a document's content. */
export type DocumentHeader = { format: Format | "sitemap"; bytes: number; page?: PageOptions | undefined };

/** What the reading process finds out about a page besides its text. */
export type PageFacts = {
  canonical: string;
  /** The hash of the text. */
  contentHash: string;
  isUnchanged: boolean;
};

/**
 * A line of JSON from the reading process: a piece of the document, links of a page or sitemap, the facts of a page, or, in the last line, the
 * document's first words, from which its language is detected, or the reason why it cannot be read.
 */
export type ReaderMessage =
  | IndexedPiece
  | { links: string[]; isIndex?: boolean }
  | { page: PageFacts }
  | { firstWords: string[] }
  | { unreadable: UnreadableReason };

/** Throws unless the line is a valid message whose texts PostgreSQL can store. */
export function parseMessage(line: Buffer): ReaderMessage {
  const message = parseJson(line);
  if (isMessage(message)) return message;
  throw new Error("the reading process wrote an invalid line");
}

// JSON.parse's error is dropped, because its message quotes the document.
function parseJson(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString());
  } catch {
    return undefined;
  }
}

function isMessage(value: unknown): value is ReaderMessage {
  if (!isRecord(value)) return false;
  const { chunks, words, firstWords, unreadable, links, page, isIndex = false } = value;
  if (isArrayOf(links, isText)) return typeof isIndex === "boolean";
  if (Object.keys(value).length !== 1) return false;
  if (typeof unreadable === "string") return Object.hasOwn(UNREADABLE_REASONS, unreadable);
  return isArrayOf(chunks, isChunk) || isArrayOf(words, isText) || isArrayOf(firstWords, isText) || isPageFacts(page);
}

function isPageFacts(value: unknown): value is PageFacts {
  return (
    isRecord(value) && [value.canonical, value.contentHash].every(isText) && typeof value.isUnchanged === "boolean"
  );
}

function isChunk(value: unknown): value is IndexedChunk {
  if (!isRecord(value) || !isRecord(value.search)) return false;
  const { innermostHeading, outerHeadings, text, code } = value.search;
  return [value.heading, value.text, innermostHeading, outerHeadings, text, code].every(isText);
}

function isText(value: unknown): value is string {
  return typeof value === "string" && !value.includes("\0");
}

function isArrayOf<T>(value: unknown, isItem: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.every(isItem);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
