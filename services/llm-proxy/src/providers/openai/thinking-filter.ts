type Marks = readonly (readonly [opening: string, closing: string])[];

/** The marks around the thoughts of models whose server does not separate them from the reply, in lower case. */
const NESTING_MARKS: Marks = [
  ...["think", "thinking", "thought", "reasoning", "seed:think"].map((name) => [`<${name}>`, `</${name}>`] as const),
  ["[think]", "[/think]"],
  ["◁think▷", "◁/think▷"],
  ["<|begin_of_thought|>", "<|end_of_thought|>"],
];
/** gpt-oss writes several messages, each in a channel. Only the last one, in the channel `final`, is the reply. */
const CHANNEL_MARKS: Marks = ["<|channel|>", "<|start|>assistant<|channel|>"].map((opening) => [
  opening,
  "final<|message|>",
]);
const MARKS = [...NESTING_MARKS, ...CHANNEL_MARKS];
const toPattern = (marks: readonly string[]) => marks.map((mark) => mark.replaceAll(/[[\]|]/g, "\\$&")).join("|");
const OPENING_MARK = new RegExp(`^\\s*(?:${toPattern(MARKS.map(([opening]) => opening))})`, "i");
/** What can follow an opening mark. */
const NEXT_MARKS = new Map([
  ...NESTING_MARKS.map((marks) => [marks[0], new RegExp(toPattern(marks), "i")] as const),
  ...CHANNEL_MARKS.map(([opening, closing]) => [opening, new RegExp(toPattern([closing]), "i")] as const),
]);
const LONGEST_MARK_CHARACTERS = Math.max(...MARKS.flat().map(({ length }) => length));
/** More text than this that may be thoughts, such as white space before the first word, is passed on. Bounds the memory and the delay. */
const MAX_HELD_CHARACTERS = 1_024;

/** Removes the thoughts before the reply from streamed text. The same marks later in the text are text. */
export class ThinkingFilter {
  /** The text that may belong to a mark or to thoughts. */
  #held = "";
  /** Matches the next mark. */
  #mark: RegExp = OPENING_MARK;
  /** The opening marks without a closing mark. */
  #depth = 0;
  /** Set if inner thoughts have ended. Thoughts can also name an opening mark, so the text is thoughts only if another closing mark follows. */
  #mayBeText: boolean = false;
  #hasThoughts: boolean = false;
  #hasText: boolean = false;

  push(piece: string): string {
    if (this.#hasText) return piece;
    this.#held += piece;
    this.#skipThoughts();
    const mayBeThoughts = this.#depth > 0 || isOpeningMarkStart(this.#held);
    return mayBeThoughts && this.#held.length <= MAX_HELD_CHARACTERS ? "" : this.#takeText();
  }

  /** Returns the text that was held back, unless it is thoughts or white space. */
  end(): string {
    return this.#isInThoughts || this.#held.trim() === "" ? "" : this.#takeText();
  }

  get #isInThoughts(): boolean {
    return this.#depth > 0 && !this.#mayBeText;
  }

  /** Skips all marks and the text between them. There may be several pairs, also inside each other. */
  #skipThoughts(): void {
    for (let found = this.#mark.exec(this.#held); found !== null; found = this.#mark.exec(this.#held)) {
      const [mark] = found;
      const nextMark = NEXT_MARKS.get(mark.trimStart().toLowerCase());
      if (nextMark !== undefined && this.#mayBeText) {
        // A reply that names the marks, or the next thoughts.
        this.#setDepth(0);
        continue;
      }
      this.#held = this.#held.slice(found.index + mark.length);
      this.#hasThoughts = true;
      if (nextMark !== undefined) this.#mark = nextMark;
      this.#setDepth(this.#depth + (nextMark === undefined ? -1 : 1));
      this.#mayBeText = nextMark === undefined && this.#depth > 0;
    }
    if (this.#isInThoughts) this.#held = this.#held.slice(-LONGEST_MARK_CHARACTERS);
  }

  #setDepth(depth: number): void {
    this.#depth = depth;
    if (depth > 0) return;
    this.#mark = OPENING_MARK;
    this.#mayBeText = false;
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
