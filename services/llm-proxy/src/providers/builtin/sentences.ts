const segmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });

// A blank line ends a paragraph; a list item, heading, quotation or table row begins one. Other line breaks are spaces.
const PARAGRAPH_BREAK = /\n\s*\n|\n(?=\s*(?:[-*+•]|\d+[.)]|#+|>)\s|\s*\|)/;
const MARKER = /^\s*(?:[-*+•]|\d+[.)]|#+|>)\s+/;
const HEADING = /^[ \t]*#+[ \t].*$/gm;

// Code is removed, so that replies do not quote it. A fence may have no end, because a passage can end within the code. In a .txt document,
// a code block is one line, because the conversation service joins the lines of a paragraph. The look-aheads prevent backtracking on a long
// run of one character.
const CODE =
  /^[ \t]*(`{3,}(?!`)|~{3,}(?!~))(?:.*?[ \t]\1(?!\S)|[^\s`~]*[ \t]*$(?:[\s\S]*?\n[ \t]*\1[ \t]*$|[\s\S]*))/gm;

// Lines without prose: fences (with or without text after them), horizontal rules, and the line under a table's head.
const DECORATION = /^(?:[ \t]*(?:`{3,}|~{3,})[^`~\n]*|[| \t:=_*-]+)$/gm;

/** Returns the sentences of a text in order, each on one line. A table row is one sentence. */
export function splitSentences(text: string): string[] {
  return text
    .replace(CODE, "\n")
    .replace(DECORATION, "")
    .replace(HEADING, "$&\n")
    .split(PARAGRAPH_BREAK)
    .flatMap((paragraph) => {
      const line = paragraph.replace(MARKER, "").replace(/\s+/g, " ").trim();
      return line.startsWith("|") ? [joinCells(line)] : [...segmenter.segment(line)].map(({ segment }) => segment);
    })
    .map((sentence) => sentence.replaceAll("**", "").trim())
    .filter((sentence) => sentence !== "");
}

function joinCells(line: string): string {
  const cells = line.split("|").map((cell) => cell.trim());
  return cells.filter((cell) => cell !== "").join(" – ");
}

/** Joins sentences. Adds a semicolon to each sentence without final punctuation, such as a list item, except to the last sentence. */
export function joinSentences(sentences: readonly string[]): string {
  return sentences
    .map((sentence, index) =>
      index === sentences.length - 1 || /[\p{Sentence_Terminal}:;,…]["'”’)]*$/u.test(sentence)
        ? sentence
        : `${sentence};`,
    )
    .join(" ");
}
