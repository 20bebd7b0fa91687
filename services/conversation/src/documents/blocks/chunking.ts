import { type Block, fenceCode, MAX_FENCE_CHARACTERS } from "./block.ts";

export type Chunk = {
  /** Headings of the section, outermost first, separated by " > ". */
  heading: string;
  text: string;
};

/** About 350 tokens: long enough for a typical section, short enough that a prompt has room for several. */
const MAX_CHUNK_CHARACTERS = 1_400;

const SENTENCES = new Intl.Segmenter("en", { granularity: "sentence" });

/** Matches a text that fenceCode returned. */
const FENCED_CODE = /^(?<fence>`{3,})\n(?<code>[\s\S]*)\n\k<fence>$/;

const MAX_CODE_CHARACTERS = MAX_CHUNK_CHARACTERS - 2 * (MAX_FENCE_CHARACTERS + "\n".length);

/**
 * Combines neighbouring blocks with the same headings into chunks of at most 1,400 characters. Each block begins on a new line.
 *
 * Splits longer prose between sentences, and longer code between lines. Splits a longer sentence or line between words, and an overlong word
 * anywhere. Each part of a code block is again a code block.
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
  const code = FENCED_CODE.exec(text)?.groups?.code;
  if (code === undefined) return splitProse(text);
  return splitCode(code).map(fenceCode);
}

function splitProse(text: string): string[] {
  const sentences = Array.from(SENTENCES.segment(text), ({ segment }) => segment);
  return packParts(sentences, MAX_CHUNK_CHARACTERS).map((each) => each.trim());
}

/** Splits code between lines. A line within the limit keeps its indentation. */
function splitCode(code: string): string[] {
  const lines = code.match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return packParts(lines, MAX_CODE_CHARACTERS).map((each) => each.replace(/^\n+/, "").trimEnd());
}

function splitBetweenWords(sentence: string, maxCharacters: number): string[] {
  // Matches a word of at most half the limit, or a part of a longer word. Half, because the pattern counts code points, which can be two UTF-16
  // units.
  const wordOrPart = new RegExp(`\\S{1,${Math.floor(maxCharacters / 2)}}\\s*`, "gu");
  return sentence.match(wordOrPart) ?? [];
}

/** Concatenates sentences or lines, in order, into texts of at most `maxCharacters`. Leaves out blank texts. */
function packParts(parts: readonly string[], maxCharacters: number): string[] {
  const texts: string[] = [];
  const shortParts = parts.flatMap((each) =>
    each.length <= maxCharacters ? [each] : splitBetweenWords(each, maxCharacters),
  );
  let text = "";
  for (const part of shortParts) {
    if (text.length + part.length > maxCharacters) {
      texts.push(text);
      text = "";
    }
    text += part;
  }
  texts.push(text);
  return texts.filter((each) => each.trim() !== "");
}
