const segmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });

// A blank line ends a paragraph; a list item, heading, quotation or table row begins one. Other line breaks only wrap.
const PARAGRAPH = /\n\s*\n|\n(?=\s*(?:[-*+•]|\d+[.)]|#+|>)\s|\s*\|)/;
const MARKER = /^\s*(?:[-*+•]|\d+[.)]|#+|>)\s+/;
const HEADING = /^[ \t]*#+[ \t].*$/gm;

// Code is no sentence. A fence that is not closed was cut off with the passage.
const CODE = /^[ \t]*(`{3,}|~{3,}).*\n(?:[\s\S]*?\n[ \t]*\1[ \t]*$|[\s\S]*$)/gm;

// What shapes a text without saying anything: fences, rules, the line under a table's head.
const NOISE = /^(?:[ \t]*(?:`{3,}|~{3,}).*|[| \t:=_*-]+)$/gm;

/** The sentences of a text, in order, each on one line; a row of a table is one too. */
export function sentencesOf(text: string): string[] {
  return text
    .replace(CODE, "\n")
    .replace(NOISE, "")
    .replace(HEADING, "$&\n")
    .split(PARAGRAPH)
    .flatMap((paragraph) => {
      const line = paragraph.replace(MARKER, "").replace(/\s+/g, " ").trim();
      return line.startsWith("|") ? [rowOf(line)] : [...segmenter.segment(line)].map(({ segment }) => segment);
    })
    .map((sentence) => sentence.replaceAll("**", "").trim())
    .filter((sentence) => sentence !== "");
}

function rowOf(line: string): string {
  const cells = line.split("|").map((cell) => cell.trim());
  return cells.filter((cell) => cell !== "").join(" – ");
}

/** Sentences in one run; where one has no end of its own (an item, a row), it is given one. */
export function joinSentences(sentences: readonly string[]): string {
  return sentences
    .map((sentence, index) =>
      index === sentences.length - 1 || /[\p{Sentence_Terminal}:;,…]["'”’)]*$/u.test(sentence)
        ? sentence
        : `${sentence};`,
    )
    .join(" ");
}
