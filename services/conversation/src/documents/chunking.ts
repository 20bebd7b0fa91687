import type { Block } from "./block.ts";

export type Chunk = {
  /** Headings of the section, outermost first, separated by " > ". */
  heading: string;
  text: string;
};

/** About 350 tokens: long enough for a typical section, short enough that a prompt has room for several passages. */
const MAX_CHUNK_CHARACTERS = 1_400;

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });

/**
 * Combines neighbouring blocks with the same headings into chunks of at most 1,400 characters, one block per line. Splits a longer block
 * between sentences, a longer sentence between words, and a longer word anywhere.
 */
export function toChunks(blocks: readonly Block[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (const block of blocks) {
    const heading = block.headings.join(" > ");
    for (const text of splitBlock(block.text)) {
      const last = chunks.at(-1);
      if (last?.heading === heading && last.text.length + 1 + text.length <= MAX_CHUNK_CHARACTERS)
        last.text += `\n${text}`;
      else chunks.push({ heading, text });
    }
  }
  return chunks;
}

function splitBlock(text: string): string[] {
  if (text.length <= MAX_CHUNK_CHARACTERS) return [text];
  const sentences = Array.from(SENTENCES.segment(text), ({ segment }) => segment);
  return packParts(
    sentences.flatMap((sentence) => (sentence.length <= MAX_CHUNK_CHARACTERS ? [sentence] : splitSentence(sentence))),
  );
}

function splitSentence(sentence: string): string[] {
  // Half the limit, because the pattern counts code points and the limit UTF-16 units.
  const longest = new RegExp(`\\S{1,${MAX_CHUNK_CHARACTERS / 2}}\\s*`, "gu");
  return sentence.match(longest) ?? [];
}

/** Concatenates parts, in order, into texts of at most 1,400 characters. */
function packParts(parts: readonly string[]): string[] {
  const texts: string[] = [];
  let text = "";
  for (const part of parts) {
    if (text.length + part.length > MAX_CHUNK_CHARACTERS) {
      texts.push(text.trim());
      text = "";
    }
    text += part;
  }
  texts.push(text.trim());
  return texts.filter((each) => each !== "");
}
