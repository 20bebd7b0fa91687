import { createParser, type EventSourceMessage } from "eventsource-parser";

/** One event may hold a very long text. */
const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;
/**
 * Matches a comment that is a damaged event: a colon replaced its first byte, or the line break before it was lost. The comments that
 * providers send are words, or empty.
 */
const EVENT_AS_COMMENT = /^d?ata:|\{\s*"/;

/**
 * Parses Server-Sent Events from bytes, however they are split. A browser ignores lines that it does not know; this parser reports them,
 * because a lost event would leave a gap in the text.
 */
export class EventStreamParser {
  /** Why parsing has stopped; undefined while it goes on. */
  stopReason: "malformed" | "too_large" | undefined;
  /** Whether a line was not part of a valid event stream, so that an event may be missing before the next one. */
  hasGap: boolean = false;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #parser: { feed(characters: string): void };
  // The incomplete last line. The parser ignores the beginning of an unknown line without an error, so it is fed whole lines only.
  #incompleteLine: string[] = [];
  #incompleteLineCharacters = 0;

  constructor(onEvent: (event: EventSourceMessage) => void) {
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent,
      onComment: (comment) => {
        this.hasGap ||= EVENT_AS_COMMENT.test(comment);
      },
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") this.stopReason ??= "too_large";
        else if (type === "unknown-field") this.hasGap = true;
      },
    });
  }

  feed(bytes: Uint8Array): void {
    const characters = this.#decode(bytes);
    if (characters === undefined) return;
    const linesEnd = Math.max(characters.lastIndexOf("\n"), characters.lastIndexOf("\r")) + 1;
    if (linesEnd > 0) {
      const lines = [...this.#incompleteLine, characters.slice(0, linesEnd)].join("");
      this.#incompleteLine = [];
      this.#incompleteLineCharacters = 0;
      this.#parser.feed(lines);
    }
    this.#hold(characters.slice(linesEnd));
  }

  end(): void {
    const rest = this.#decode();
    // Some servers leave out the last blank line.
    if (rest !== undefined) this.#parser.feed([...this.#incompleteLine, rest, "\n\n"].join(""));
  }

  #hold(characters: string): void {
    if (characters === "") return;
    this.#incompleteLine.push(characters);
    this.#incompleteLineCharacters += characters.length;
    if (this.#incompleteLineCharacters > MAX_EVENT_CHARACTERS) this.stopReason ??= "too_large";
  }

  /** Returns undefined when parsing has stopped. */
  #decode(bytes?: Uint8Array): string | undefined {
    if (this.stopReason !== undefined) return undefined;
    try {
      return this.#decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      this.stopReason = "malformed";
      return undefined;
    }
  }
}
