import { createParser, type EventSourceMessage } from "eventsource-parser";

/** The largest event. Bounds the memory of a stream. */
const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;
/**
 * Matches a comment that contains a damaged `data:` line: a colon replaced the line's first byte (`:ata: {"…`), or the line break
 * between a comment and the line was lost (`: pingdata: {"…`). Real comments of providers are single words or empty.
 */
const EVENT_AS_COMMENT = /^d?ata:|\{\s*"/;

/**
 * Parses Server-Sent Events from byte chunks, which may be split anywhere. Unlike a browser, it does not ignore lines with unknown fields:
 * they may be damaged events, whose loss leaves a gap in the text (`hasGap`).
 */
export class EventStreamParser {
  /** Why parsing has stopped; undefined while it continues. */
  parseFailure: "malformed" | "too_large" | undefined;
  /** Whether an event may be lost: there was a line with an unknown field, or a comment with a damaged event. */
  hasGap: boolean = false;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #parser: { feed(characters: string): void };
  // The pieces of the incomplete last line. The parser gets only whole lines: if it gets the start of a line with an unknown field, it discards
  // the line without an error.
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
        if (type === "max-buffer-size-exceeded") this.parseFailure ??= "too_large";
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
    this.#addToIncompleteLine(characters.slice(linesEnd));
  }

  end(): void {
    const characters = this.#decode();
    // Some servers leave out the last blank line.
    if (characters !== undefined) this.#parser.feed([...this.#incompleteLine, characters, "\n\n"].join(""));
  }

  #addToIncompleteLine(characters: string): void {
    if (characters === "") return;
    this.#incompleteLine.push(characters);
    this.#incompleteLineCharacters += characters.length;
    if (this.#incompleteLineCharacters > MAX_EVENT_CHARACTERS) this.parseFailure ??= "too_large";
  }

  /** Decodes bytes. Without bytes, checks that the stream does not end inside a character. Returns undefined if parsing has stopped. */
  #decode(bytes?: Uint8Array): string | undefined {
    if (this.parseFailure !== undefined) return undefined;
    try {
      return this.#decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      this.parseFailure = "malformed";
      return undefined;
    }
  }
}
