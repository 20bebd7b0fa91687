import { replaceUnstorable } from "../text.ts";

/**
 * Makes a stream of texts well-formed. Joins a surrogate pair that was split between two texts. Replaces lone surrogates and NUL with
 * U+FFFD, because PostgreSQL refuses them.
 */
export class WellFormedTextBuffer {
  #pendingSurrogate = "";

  /** Adds a text and returns it, except for the first half of a surrogate pair at its end: that half waits for the next text. */
  push(piece: string): string {
    if (piece === "") return "";
    const text = this.#pendingSurrogate + piece;
    const last = text.charCodeAt(text.length - 1);
    const splitsPair = last >= 0xd800 && last <= 0xdbff;
    this.#pendingSurrogate = splitsPair ? text.slice(-1) : "";
    return replaceUnstorable(splitsPair ? text.slice(0, -1) : text);
  }

  /** Returns U+FFFD if the first half of a surrogate pair still waits, otherwise "". */
  flush(): string {
    const rest = replaceUnstorable(this.#pendingSurrogate);
    this.#pendingSurrogate = "";
    return rest;
  }
}
