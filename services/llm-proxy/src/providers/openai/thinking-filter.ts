/** The elements in which models without a reasoning parser write their thoughts, before their reply. */
const ELEMENTS = ["think", "thinking", "thought", "reasoning"];
const OPENING_TAG = new RegExp(`^\\s*<(${ELEMENTS.join("|")})>`, "i");
const LONGEST_TAG_CHARACTERS = 16;
/** More white space than this before the first word is passed on. Bounds the memory. */
const MAX_HELD_CHARACTERS = 1_024;

/** Removes the thoughts before the reply from streamed text. The same elements later in the text are text. */
export class ThinkingFilter {
  /** The text that may belong to a tag. */
  #held = "";
  /** Set while the text is thoughts. */
  #closingTag: RegExp | undefined;
  #hasThoughts: boolean = false;
  #hasText: boolean = false;

  push(piece: string): string {
    if (this.#hasText) return piece;
    this.#held += piece;
    this.#skipThoughts();
    const mayBeThoughts = this.#closingTag !== undefined || isOpeningTagStart(this.#held);
    return mayBeThoughts && this.#held.length <= MAX_HELD_CHARACTERS ? "" : this.#takeText();
  }

  /** Returns the text that was held back, unless it is thoughts or white space. */
  end(): string {
    return this.#closingTag !== undefined || this.#held.trim() === "" ? "" : this.#takeText();
  }

  /** Skips all tags and the text between them. There may be several elements. */
  #skipThoughts(): void {
    for (;;) {
      const tag = (this.#closingTag ?? OPENING_TAG).exec(this.#held);
      if (tag === null) break;
      const [text, element = ""] = tag;
      this.#held = this.#held.slice(tag.index + text.length);
      this.#closingTag = this.#closingTag === undefined ? new RegExp(`</${element}>`, "i") : undefined;
      this.#hasThoughts = true;
    }
    if (this.#closingTag !== undefined) this.#held = this.#held.slice(-LONGEST_TAG_CHARACTERS);
  }

  #takeText(): string {
    const text = this.#hasThoughts ? this.#held.trimStart() : this.#held;
    this.#held = "";
    this.#hasText = text !== "";
    return text;
  }
}

/** Whether a text is white space, or begins like an opening tag. */
function isOpeningTagStart(text: string): boolean {
  const start = text.trimStart().toLowerCase();
  return ELEMENTS.some((element) => `<${element}>`.startsWith(start));
}
