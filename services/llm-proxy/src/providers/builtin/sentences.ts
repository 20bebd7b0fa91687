/** One sentence of a passage, or one list item or table row. */
export type Sentence = {
  /** On one line, without markup. */
  text: string;
  /** The code block that follows the sentence; empty for none. */
  code: string;
  isListItem: boolean;
  isQuestion: boolean;
  startsParagraph: boolean;
  /**
   * The question that the sentence answers: the beginning of its paragraph, or the paragraph before, if that is one question. Then each later question
   * of the paragraph is the one of the sentences after it. Empty for none.
   */
  question: string;
  /** Whether the sentence is the first one after that question. */
  isAnswer: boolean;
};

const segmenter = new Intl.Segmenter(undefined, { granularity: "sentence" });

const LIST_MARKER = /^\s*(?:[-*+•]|\d+[.)])\s+/;
const OTHER_MARKER = /^\s*(?:#+|>)\s+/;
const QUESTION = /[?？؟]["'”’)*]*$/;
/** A label of a question or of its answer: "Q:", "Antwort:". */
const LABEL = /^(?:[QAFPDR]|Question|Answer|Frage|Antwort|Réponse|Pregunta|Respuesta|Domanda|Risposta)\s?[:：]\s*/u;
export const MAX_LIST_ITEM_CHARACTERS = 200;

// A fence may have no end, because a passage can end within the code. In a .txt document, a code block is one line, because the conversation
// service joins the lines of a paragraph. The look-aheads prevent backtracking on a long run of one character.
const CODE =
  /^[ \t]*(`{3,}(?!`)|~{3,}(?!~))(?:(?<inline>.*?)[ \t]\1(?!\S)|[^\s`~]*[ \t]*$(?<block>[\s\S]*?\n(?=[ \t]*\1[ \t]*$)|[\s\S]*)(?:[ \t]*\1[ \t]*$)?)/gm;

// Lines without prose: fences (with or without text after them), horizontal rules, and the line under a table's head.
const DECORATION = /^(?:[ \t]*(?:`{3,}|~{3,})[^`~\n]*|[| \t:=_*-]+)$/;
const DELIMITER_ROW = /^[| \t:-]*-[| \t:-]*$/;

/**
 * Returns the sentences of a text in order. Each line is a paragraph, list item or table row, because the conversation service joins the lines
 * of a paragraph.
 */
export function splitSentences(text: string): Sentence[] {
  const sentences: Sentence[] = [];
  let end = 0;
  for (const match of text.matchAll(CODE)) {
    addProse(sentences, text.slice(end, match.index));
    const { inline, block = "" } = match.groups ?? {};
    // The name of the language may follow the fence directly.
    const code = inline === undefined ? block.replace(/^\n+/, "").trimEnd() : inline.replace(/^\S+/, "").trim();
    const last = sentences.at(-1);
    if (last !== undefined && last.code === "" && code.trim() !== "") last.code = code;
    end = match.index + match[0].length;
  }
  addProse(sentences, text.slice(end));
  return sentences;
}

function addProse(sentences: Sentence[], text: string): void {
  const lines = text.split("\n");
  let labels: string[] | undefined;
  for (const [index, line] of lines.entries()) {
    const isRow = line.trimStart().startsWith("|");
    if (!isRow) labels = undefined;
    if (DECORATION.test(line)) continue;
    if (isRow && DELIMITER_ROW.test(lines[index + 1] ?? "")) {
      labels = readCells(line);
      continue;
    }
    addLine(sentences, isRow ? joinCells(readCells(line), labels) : line, isRow);
  }
}

function addLine(sentences: Sentence[], line: string, isRow: boolean): void {
  const hasMarker = LIST_MARKER.test(line);
  const plain = line
    .replace(LIST_MARKER, "")
    .replace(OTHER_MARKER, "")
    .replace(/\*\*|[=_~*-]{4,}/g, "")
    .replace(/\s+/g, " ")
    .trim();
  const texts = isRow
    ? [plain]
    : [...segmenter.segment(plain)].map(({ segment }) => segment.trim()).filter((each) => each !== "");
  const before = sentences.at(-1);
  // The conversation service removes the markers of list items.
  const continuesList =
    before !== undefined &&
    before.code === "" &&
    plain.length <= MAX_LIST_ITEM_CHARACTERS &&
    (/[:：]$/.test(before.text) || (before.isListItem && before.startsParagraph && texts.length === 1));
  let question = before?.isQuestion && before.startsParagraph ? before.text : "";
  for (const [index, each] of texts.entries()) {
    const isAfterQuestion = sentences.at(-1)?.isQuestion === true;
    const text = isAfterQuestion || isQuestion(each) ? each.replace(LABEL, "") : each;
    if (text === "") continue;
    sentences.push({
      text,
      code: "",
      isListItem: hasMarker || continuesList,
      isQuestion: isQuestion(text),
      startsParagraph: index === 0,
      question,
      isAnswer: question !== "" && isAfterQuestion,
    });
    if (isQuestion(text) && (index === 0 || (question !== "" && !isAfterQuestion))) question = text;
  }
}

export function isQuestion(text: string): boolean {
  return QUESTION.test(text);
}

function readCells(row: string): string[] {
  const cells = row.trim().replace(/^\|/, "").replace(/\|$/, "").split("|");
  return cells.map((cell) => cell.trim());
}

/** Returns a row in the form in which the conversation service stores the rows of Markdown tables. */
function joinCells(cells: readonly string[], labels: readonly string[] = []): string {
  const parts = cells.map((cell, index) => (labels[index] && cell ? `${labels[index]}: ${cell}` : cell));
  const text = parts.filter((part) => part !== "").join("; ");
  return text === "" ? "" : `${text}.`;
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
