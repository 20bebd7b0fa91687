/**
 * A mark with which a model cites numbered sources in its Markdown: `[1]`, `[1, 2]`, `[^1]`, `[source 1]` or `【1】`. `space` is the white space before
 * it.
 */
export type CitationMarker = { space: string; numbers: number[] };

const MARKER = /([ \t]{0,4})[[【] ?(?:\^|sources? )?(\d{1,3}(?:[,;] ?\d{1,3}){0,9}) ?[\]】]/iy;
/** Matches each beginning of a marker, and few other texts. */
const MARKER_START = /^[ \t]{0,4}[[【] ?(?:\^|[source ]{0,8})[\d,; ]{0,50}$/i;
/** What can begin a marker or code, escape a character or end a line. */
const SPECIAL = /\\|`+|~+|\n|[ \t]{0,4}[[【]|[ \t]{1,4}$/g;
const ESCAPED = /^\\[!-/:-@[-`{-~]/;
/** A line may have the marks of quotes and lists before a fence. */
const FENCE_PREFIX = /^[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+[ \t>]*)*$/;
const CLOSING_FENCE = /^[ \t>]*(`{3,}|~{3,})[ \t]*$/;
const CLOSING_FENCE_START = /^[ \t>]*(?:`*|~*)[ \t]*$/;
/** Matches the beginning of a line that does not continue the paragraph before it. */
const BLOCK_START = /^[ \t]*(?:\n|[-*+>#|]|\d{1,9}[.)]|~~~|```)/;
/** Matches a line that may become such a beginning when more of it arrives. */
const BLOCK_START_START = /^[ \t]*(?:\d{0,9}|~{0,2}|`{0,2})$/;
/** Limits how much text waits for the end of a span or of the line of a fence. A longer span is no code, and a longer line opens a block. */
const MAX_CODE_CHARACTERS = 1_000;
const MAX_LINE_CHARACTERS = 100;

/** A piece of the text. Undefined if its end depends on text that has not arrived. */
type Token = { end: number; marker?: CitationMarker } | undefined;

/**
 * Finds the citation markers in streamed Markdown outside of code, which is in fenced blocks and in spans between backticks. Holds back the end of the
 * text while it may be part of a marker, of a span or of a fence.
 */
export class CitationMarkers {
  #held = "";
  /** The beginning of the current line. */
  #line = "";
  /** The marks that opened the current block of code; empty outside of one. */
  #fence = "";

  /** Returns the next texts and markers. */
  push(piece: string): (string | CitationMarker)[] {
    return this.#read(piece, false);
  }

  /** Returns the rest. More text may follow. */
  end(): (string | CitationMarker)[] {
    return this.#read("", true);
  }

  #read(piece: string, isComplete: boolean): (string | CitationMarker)[] {
    const text = this.#held + piece;
    const parts: (string | CitationMarker)[] = [];
    let partStart = 0;
    let at = 0;
    const addText = () => {
      if (at > partStart) parts.push(text.slice(partStart, at));
    };
    while (at < text.length) {
      const token = this.#fence === "" ? this.#readText(text, at, isComplete) : this.#readBlock(text, at, isComplete);
      if (token === undefined) break;
      const { end, marker } = token;
      if (marker !== undefined) {
        addText();
        parts.push(marker);
        partStart = end;
      }
      this.#advanceLine(text.slice(at, end));
      at = end;
    }
    addText();
    this.#held = text.slice(at);
    return parts;
  }

  #advanceLine(read: string): void {
    const lineBreak = read.lastIndexOf("\n");
    const line = lineBreak === -1 ? this.#line + read : read.slice(lineBreak + 1);
    this.#line = line.slice(0, MAX_LINE_CHARACTERS);
  }

  /** Reads a line of a block of code, or the rest of one. */
  #readBlock(text: string, at: number, isComplete: boolean): Token {
    const lineBreak = text.indexOf("\n", at);
    const line = text.slice(at, lineBreak === -1 ? undefined : lineBreak);
    if (this.#line === "") {
      const mayClose = line.length < MAX_CODE_CHARACTERS && CLOSING_FENCE_START.test(line);
      if (lineBreak === -1 && !isComplete && mayClose) return undefined;
      const marks = mayClose ? CLOSING_FENCE.exec(line)?.[1] : undefined;
      if (marks?.startsWith(this.#fence)) this.#fence = "";
    }
    return { end: lineBreak === -1 ? text.length : lineBreak + 1 };
  }

  #readText(text: string, at: number, isComplete: boolean): Token {
    SPECIAL.lastIndex = at;
    const special = SPECIAL.exec(text);
    if (special === null) return { end: text.length };
    const [found] = special;
    if (special.index > at) return { end: special.index };
    const end = at + found.length;
    const isCut = end === text.length && !isComplete && found.length <= MAX_CODE_CHARACTERS;
    if (found === "\n") return { end };
    if (found === "\\") return isCut ? undefined : { end: ESCAPED.test(text.slice(at, at + 2)) ? at + 2 : end };
    if (found.startsWith("`") || found.startsWith("~"))
      return isCut ? undefined : this.#readMarks(text, at, end, isComplete);
    if (found.trim() === "") return isCut ? undefined : { end };
    MARKER.lastIndex = at;
    const marker = MARKER.exec(text);
    if (marker === null) return !isComplete && MARKER_START.test(text.slice(at)) ? undefined : { end };
    const [all, space = "", numbers = ""] = marker;
    return { end: at + all.length, marker: { space, numbers: numbers.split(/[,;]/).map(Number) } };
  }

  /** Reads a run of backticks or tildes, and the span or the line of the fence that it opens. */
  #readMarks(text: string, at: number, end: number, isComplete: boolean): Token {
    const marks = text.slice(at, end);
    if (marks.length >= 3 && FENCE_PREFIX.test(this.#line)) {
      const lineBreak = text.indexOf("\n", end);
      const info = text.slice(end, lineBreak === -1 ? undefined : lineBreak).slice(0, MAX_CODE_CHARACTERS);
      if (marks.startsWith("~") || !info.includes("`")) {
        const isLine = lineBreak !== -1 || isComplete || info.length === MAX_CODE_CHARACTERS;
        if (!isLine) return undefined;
        this.#fence = marks;
        return { end: lineBreak === -1 ? text.length : lineBreak + 1 };
      }
    }
    if (marks.startsWith("~")) return { end };
    const spanEnd = findSpanEnd(text, end, marks.length, isComplete);
    return spanEnd === undefined ? undefined : { end: Math.max(end, spanEnd) };
  }
}

/**
 * Returns the end of the span that a run of `length` backticks opens before `start`: after the next run of this length in the paragraph. Returns -1 if
 * there is none, and undefined if it may still arrive.
 */
function findSpanEnd(text: string, start: number, length: number, isComplete: boolean): number | undefined {
  for (const { 0: found, index } of text.slice(start).matchAll(/`+|\n/g)) {
    const end = start + index + found.length;
    if (end - start > MAX_CODE_CHARACTERS) return -1;
    if (found === "\n") {
      const line = text.slice(end);
      if (BLOCK_START.test(line)) return -1;
      if (!isComplete && BLOCK_START_START.test(line)) return undefined;
    } else if (found.length === length) return end === text.length && !isComplete ? undefined : end;
  }
  return isComplete || text.length - start > MAX_CODE_CHARACTERS ? -1 : undefined;
}

/** Returns a text without its citation markers. */
export function removeCitationMarkers(text: string): string {
  const markers = new CitationMarkers();
  const parts = [...markers.push(text), ...markers.end()];
  return parts.filter((part) => typeof part === "string").join("");
}
