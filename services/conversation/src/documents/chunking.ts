import { type Block, fenceCode } from "./block.ts";

export type Chunk = {
  /** Headings of the section, outermost first, separated by " > ". */
  heading: string;
  text: string;
};

/** About 350 tokens: long enough for a typical section, short enough that a prompt has room for several passages. */
const MAX_CHUNK_CHARACTERS = 1_400;

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });

/** Matches a text that fenceCode returned. Captures the code. */
const FENCED_CODE = /^```\n([\s\S]*)\n```$/;

/**
 * Combines neighbouring blocks with the same headings into chunks of at most 1,400 characters, one block per line. Splits a longer block
 * between sentences, a longer sentence between words, and a longer word anywhere. Each part of a code block is a code block.
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
  const [, code] = FENCED_CODE.exec(text) ?? [];
  if (code === undefined) return splitLongText(text, MAX_CHUNK_CHARACTERS);
  return splitLongText(code, MAX_CHUNK_CHARACTERS - fenceCode("").length).map(fenceCode);
}

/** Splits a text into texts of at most `maxCharacters`. A line of code is a sentence here. */
function splitLongText(text: string, maxCharacters: number): string[] {
  const sentences = Array.from(SENTENCES.segment(text), ({ segment }) => segment);
  const parts = sentences.flatMap((each) => (each.length <= maxCharacters ? [each] : splitSentence(each)));
  return packParts(parts, maxCharacters);
}

function splitSentence(sentence: string): string[] {
  // Half the limit, because the pattern counts code points and the limit UTF-16 units.
  const longest = new RegExp(`\\S{1,${MAX_CHUNK_CHARACTERS / 2}}\\s*`, "gu");
  return sentence.match(longest) ?? [];
}

/** Concatenates parts, in order, into texts of at most `maxCharacters`. */
function packParts(parts: readonly string[], maxCharacters: number): string[] {
  const texts: string[] = [];
  let text = "";
  for (const part of parts) {
    if (text.length + part.length > maxCharacters) {
      texts.push(text.trim());
      text = "";
    }
    text += part;
  }
  texts.push(text.trim());
  return texts.filter((each) => each !== "");
}
