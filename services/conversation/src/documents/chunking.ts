import type { Block } from "./block.ts";

export type Chunk = {
  /** The headings above it, outermost first, joined by " > ". */
  heading: string;
  text: string;
};

/** About 350 tokens: a section of usual length in one piece, and small enough that a prompt holds passages from several places. */
const MAX_CHUNK_CHARACTERS = 1_400;

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });

/**
 * Joins blocks under the same headings to chunks of at most 1,400 characters, a block a line. A longer block is cut between
 * sentences, and a longer sentence between words.
 */
export function toChunks(blocks: readonly Block[]): Chunk[] {
  const chunks: Chunk[] = [];
  for (const block of blocks) {
    const heading = block.headings.join(" > ");
    for (const text of pieces(block.text)) {
      const last = chunks.at(-1);
      if (last?.heading === heading && last.text.length + 1 + text.length <= MAX_CHUNK_CHARACTERS)
        last.text += `\n${text}`;
      else chunks.push({ heading, text });
    }
  }
  return chunks;
}

function pieces(text: string): string[] {
  if (text.length <= MAX_CHUNK_CHARACTERS) return [text];
  const sentences = Array.from(SENTENCES.segment(text), ({ segment }) => segment);
  return join(
    sentences.flatMap((sentence) => (sentence.length <= MAX_CHUNK_CHARACTERS ? [sentence] : words(sentence))),
  );
}

function words(sentence: string): string[] {
  // Half of them, as a character may be two units long.
  const longest = new RegExp(`\\S{1,${MAX_CHUNK_CHARACTERS / 2}}\\s*`, "gu");
  return sentence.match(longest) ?? [];
}

/** Joins parts, in order, to texts that are as long as may be. */
function join(parts: readonly string[]): string[] {
  const joined: string[] = [];
  let text = "";
  for (const part of parts) {
    if (text.length + part.length > MAX_CHUNK_CHARACTERS) {
      joined.push(text.trim());
      text = "";
    }
    text += part;
  }
  joined.push(text.trim());
  return joined.filter((each) => each !== "");
}
