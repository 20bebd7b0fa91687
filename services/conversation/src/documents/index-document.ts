import type { Chunk } from "./chunking.ts";
import { searchWords } from "./search-words.ts";

/** A chunk with the words that it is found by, separated by blanks. */
export type IndexedChunk = Chunk & {
  search: {
    /** Of the nearest heading. */
    nearest: string;
    /** Of the headings above that. */
    above: string;
    text: string;
    code: string;
  };
};

export type IndexedDocument = {
  chunks: IndexedChunk[];
  /** Every word once. */
  words: string[];
  /** The text's first words, by which its language is told. */
  beginning: string[];
};

const CODE = /```\n[\s\S]*?(?:\n```|$)/g;
const BEGINNING_WORDS = 1_000;

/** Prepares chunks to be stored and searched. */
export function indexDocument(chunks: readonly Chunk[]): IndexedDocument {
  const words = new Set<string>();
  const beginning: string[] = [];
  const wordsOf = (text: string) => {
    const found = searchWords(text);
    for (const word of found) words.add(word);
    return found;
  };
  const indexed = chunks.map((chunk) => {
    const headings = chunk.heading.split(" > ");
    const text = wordsOf(chunk.text.replace(CODE, " "));
    beginning.push(...text.slice(0, BEGINNING_WORDS - beginning.length));
    const search = {
      nearest: wordsOf(headings.at(-1) ?? "").join(" "),
      above: wordsOf(headings.slice(0, -1).join(" ")).join(" "),
      text: text.join(" "),
      code: wordsOf((chunk.text.match(CODE) ?? []).join(" ")).join(" "),
    };
    return { ...chunk, search };
  });
  return { chunks: indexed, words: [...words], beginning };
}
