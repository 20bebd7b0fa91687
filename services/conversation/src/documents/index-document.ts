import type { Chunk } from "./blocks/chunking.ts";
import { tokenizeWithSpellings } from "./words/tokenize.ts";

/** A chunk with its words, separated by spaces, for the search index. */
export type IndexedChunk = Chunk & {
  search: {
    innermostHeading: string;
    outerHeadings: string;
    /** Without the code blocks. */
    text: string;
    code: string;
  };
};

/**
 * A part of a document, small enough for one INSERT and for one line of the output of read-document.child.ts. The chunks come first, then the
 * document's distinct words.
 */
export type IndexedPiece = { chunks: IndexedChunk[] } | { words: string[] };

export type IndexedDocument = {
  chunkCount: number;
  /** Length of the text in all chunks. */
  characters: number;
  pieces: Iterable<IndexedPiece>;
};

const CODE = /^(`{3,})\n[\s\S]*?\n\1$/gm;
const MAX_FIRST_WORDS = 1_000;
const PIECE_CHARACTERS = 100_000;

/** Yields the pieces to store. Returns the document's first words, from which its language is detected. */
export function* indexChunks(chunks: readonly Chunk[]): Generator<IndexedPiece, string[]> {
  const words = new Set<string>();
  const firstWords: string[] = [];
  // The other spellings come last, so that neighbouring words stay neighbours.
  const tokenizeAndCollect = (text: string) => {
    const found = tokenizeWithSpellings(text, { isIndexed: true });
    const all = [...found.words, ...found.spellings.map(({ word }) => word)];
    for (const word of all) words.add(word);
    return { all, words: found.words };
  };
  const indexChunk = (chunk: Chunk): IndexedChunk => {
    const headings = chunk.heading.split(" > ");
    const text = tokenizeAndCollect(chunk.text.replace(CODE, " "));
    firstWords.push(...text.words.slice(0, MAX_FIRST_WORDS - firstWords.length));
    const search = {
      innermostHeading: tokenizeAndCollect(headings.at(-1) ?? "").all.join(" "),
      outerHeadings: tokenizeAndCollect(headings.slice(0, -1).join(" ")).all.join(" "),
      text: text.all.join(" "),
      code: tokenizeAndCollect((chunk.text.match(CODE) ?? []).join(" ")).all.join(" "),
    };
    return { ...chunk, search };
  };
  for (const batch of batchByCharacters(chunks, ({ heading, text }) => heading.length + text.length))
    yield { chunks: batch.map(indexChunk) };
  for (const batch of batchByCharacters(words, (word) => word.length)) yield { words: batch };
  return firstWords;
}

function* batchByCharacters<T>(items: Iterable<T>, charactersOf: (item: T) => number): Generator<T[]> {
  let batch: T[] = [];
  let characters = 0;
  for (const item of items) {
    batch.push(item);
    characters += charactersOf(item);
    if (characters < PIECE_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}
