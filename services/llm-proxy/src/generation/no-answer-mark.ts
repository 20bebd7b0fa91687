import { NO_ANSWER_MARK } from "../providers/index.ts";

const MARK = new RegExp(NO_ANSWER_MARK.replace(/[[\]]/g, "\\$&"), "gi");

/** Removes the mark with which a model says that it has no answer from streamed text. */
export class NoAnswerMark {
  /** Whether the text had the mark. */
  isFound: boolean = false;
  /** The end of the text that may be the beginning of a mark. */
  #held = "";
  #hasText: boolean = false;

  /** Returns the text that can be passed on. */
  push(piece: string): string {
    if (this.#held === "" && this.#hasText && !piece.includes("[")) return piece;
    const text = this.#trim((this.#held + piece).replace(MARK, () => this.#find()));
    const start = text.lastIndexOf("[");
    const isStartOfMark = start !== -1 && NO_ANSWER_MARK.startsWith(text.slice(start).toLowerCase());
    const end = isStartOfMark ? start : text.length;
    this.#held = text.slice(end);
    return this.#pass(text.slice(0, end));
  }

  /** Returns the rest of the text. */
  end(): string {
    const rest = this.#held;
    this.#held = "";
    return this.#pass(rest);
  }

  #find(): string {
    this.isFound = true;
    return "";
  }

  /** Removes the white space between a mark and the first word. */
  #trim(text: string): string {
    return this.isFound && !this.#hasText ? text.trimStart() : text;
  }

  #pass(text: string): string {
    this.#hasText ||= text.trim() !== "";
    return text;
  }
}
