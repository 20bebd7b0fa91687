const CONTENT = /"content"\s*:\s*("(?:[^"\\]|\\.)*")/;
const STAND_IN = "\u2402text\u2403";
/** A longer chunk is worth being read by itself. */
const MAX_CHARACTERS = 4_096;
/** A stream whose chunks differ in more than their text is found out after so many that led to nothing. */
const MAX_IN_VAIN = 4;

/**
 * Knows the chunks of a reply that are one before with another text, as most are: by what stands before and after the text, so that
 * only the text is read as JSON. Such a chunk means what that one did, whatever else is in it.
 */
export class SameChunk {
  #before = "";
  #after = "";
  #inVain = 0;

  /** The text of a chunk that is the one learned but for it; undefined of any other, and of what is no JSON. */
  textOf(data: string): string | undefined {
    const start = this.#before.length;
    const end = data.length - this.#after.length;
    // Slices that are compared as a whole, at half the cost of startsWith and endsWith.
    if (start === 0 || end <= start || data.slice(end) !== this.#after || data.slice(0, start) !== this.#before)
      return undefined;
    const text = parsed(data.slice(start, end));
    if (typeof text !== "string") return undefined;
    this.#inVain = 0;
    return text;
  }

  /** Takes a chunk to know others by: one that was read, and of which `textIn` the parsed chunk is all that matters. */
  learn(data: string, textIn: (chunk: unknown) => unknown): void {
    if (this.#inVain++ >= MAX_IN_VAIN || data.length > MAX_CHARACTERS) return;
    const found = CONTENT.exec(data);
    const literal = found?.[1];
    if (found === null || literal === undefined) return;
    const end = found.index + found[0].length;
    const before = data.slice(0, end - literal.length);
    const after = data.slice(end);
    // There may be other fields of this name.
    if (textIn(parsed(before + JSON.stringify(STAND_IN) + after)) !== STAND_IN) return;
    this.#before = before;
    this.#after = after;
  }
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
