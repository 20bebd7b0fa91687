/** The marks around the thoughts of models whose server does not separate them from the reply, in lower case. */
const MARKS: readonly (readonly [opening: string, closing: string])[] = [
  ...["think", "thinking", "thought", "reasoning", "seed:think"].map((name) => [`<${name}>`, `</${name}>`] as const),
  ["[think]", "[/think]"],
  ["◁think▷", "◁/think▷"],
  ["<|begin_of_thought|>", "<|end_of_thought|>"],
];
const quote = (mark: string) => mark.replaceAll(/[[\]|]/g, "\\$&");
const OPENING_MARK = new RegExp(`^\\s*(?:${MARKS.map(([opening]) => quote(opening)).join("|")})`, "i");
const CLOSING_MARKS = new Map(MARKS.map(([opening, closing]) => [opening, new RegExp(quote(closing), "i")]));
const LONGEST_MARK_CHARACTERS = Math.max(...MARKS.flat().map(({ length }) => length));
/** More white space than this before the first word is passed on. Bounds the memory. */
const MAX_HELD_CHARACTERS = 1_024;

/** Removes the thoughts before the reply from streamed text. The same marks later in the text are text. */
export class ThinkingFilter {
  /** The text that may belong to a mark. */
  #held = "";
  /** Set while the text is thoughts. */
  #closingMark: RegExp | undefined;
  #hasThoughts: boolean = false;
  #hasText: boolean = false;

  push(piece: string): string {
    if (this.#hasText) return piece;
    this.#held += piece;
    this.#skipThoughts();
    const mayBeThoughts = this.#closingMark !== undefined || isOpeningMarkStart(this.#held);
    return mayBeThoughts && this.#held.length <= MAX_HELD_CHARACTERS ? "" : this.#takeText();
  }

  /** Returns the text that was held back, unless it is thoughts or white space. */
  end(): string {
    return this.#closingMark !== undefined || this.#held.trim() === "" ? "" : this.#takeText();
  }

  /** Skips all marks and the text between them. There may be several pairs. */
  #skipThoughts(): void {
    for (;;) {
      const mark = (this.#closingMark ?? OPENING_MARK).exec(this.#held);
      if (mark === null) break;
      const [text] = mark;
      this.#held = this.#held.slice(mark.index + text.length);
      this.#closingMark =
        this.#closingMark === undefined ? CLOSING_MARKS.get(text.trimStart().toLowerCase()) : undefined;
      this.#hasThoughts = true;
    }
    if (this.#closingMark !== undefined) this.#held = this.#held.slice(-LONGEST_MARK_CHARACTERS);
  }

  #takeText(): string {
    const text = this.#hasThoughts ? this.#held.trimStart() : this.#held;
    this.#held = "";
    this.#hasText = text !== "";
    return text;
  }
}

/** Whether a text is white space, or begins like an opening mark. */
function isOpeningMarkStart(text: string): boolean {
  const start = text.trimStart().toLowerCase();
  return MARKS.some(([opening]) => opening.startsWith(start));
}
