import { replaceUnstorable } from "../text.ts";

/** Makes streamed text well-formed: replaces lone surrogates and NUL with U+FFFD, because PostgreSQL refuses them. */
export class WellFormedTextBuffer {
  #pendingSurrogate = "";

  /** If the piece ends with the first half of a surrogate pair, keeps that half and prepends it to the next piece. */
  push(piece: string): string {
    if (piece === "") return "";
    const text = this.#pendingSurrogate + piece;
    const last = text.charCodeAt(text.length - 1);
    const splitsPair = last >= 0xd800 && last <= 0xdbff;
    this.#pendingSurrogate = splitsPair ? text.slice(-1) : "";
    return replaceUnstorable(splitsPair ? text.slice(0, -1) : text);
  }

  /** Ends the text: returns U+FFFD if the last piece ended with the first half of a surrogate pair, otherwise "". */
  flush(): string {
    const rest = replaceUnstorable(this.#pendingSurrogate);
    this.#pendingSurrogate = "";
    return rest;
  }
}
