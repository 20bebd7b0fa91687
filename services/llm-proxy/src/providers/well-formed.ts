const REPLACEMENT = "\uFFFD";

/**
 * Makes a stream of pieces well-formed, piece by piece: a surrogate pair cut in two is joined again, a lone surrogate or NUL
 * (which PostgreSQL refuses) becomes U+FFFD.
 */
export class WellFormedText {
  #held = "";

  /** The text that may be sent on now. */
  push(piece: string): string {
    if (piece === "") return "";
    const text = this.#held + piece;
    const last = text.charCodeAt(text.length - 1);
    const cut = last >= 0xd800 && last <= 0xdbff;
    this.#held = cut ? text.slice(-1) : "";
    return mend(cut ? text.slice(0, -1) : text);
  }

  /** What is left at the end. */
  flush(): string {
    const rest = mend(this.#held);
    this.#held = "";
    return rest;
  }
}

function mend(text: string): string {
  return text.toWellFormed().replaceAll("\0", REPLACEMENT);
}
