import { createParser, type EventSourceMessage } from "eventsource-parser";

/** One event may hold a very long text. */
const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;
/**
 * Matches a comment that was an event until its first byte, or the line break before it, was lost. Providers' own comments are words, or
 * empty.
 */
const EVENT_AS_COMMENT = /^d?ata:|\{\s*"/;

/**
 * Parses Server-Sent Events from bytes, however they are split. A browser ignores lines that it does not know; this parser reports them,
 * because a lost event would leave a gap in the text.
 */
export class EventStream {
  /** Why parsing has stopped; undefined while it goes on. */
  broken: "malformed" | "too_large" | undefined;
  /** Whether a line was not part of a valid event stream, so that an event may be missing before the next one. */
  hasGap: boolean = false;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #parser: { feed(characters: string): void };
  // The incomplete last line. The parser ignores the beginning of an unknown line without an error, so it is fed whole lines only.
  #held: string[] = [];
  #heldCharacters = 0;

  constructor(onEvent: (event: EventSourceMessage) => void) {
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent,
      onComment: (comment) => {
        this.hasGap ||= EVENT_AS_COMMENT.test(comment);
      },
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") this.broken ??= "too_large";
        else if (type === "unknown-field") this.hasGap = true;
      },
    });
  }

  feed(bytes: Uint8Array): void {
    const characters = this.#decode(bytes);
    if (characters === undefined) return;
    const linesEnd = Math.max(characters.lastIndexOf("\n"), characters.lastIndexOf("\r")) + 1;
    if (linesEnd > 0) {
      const lines = [...this.#held, characters.slice(0, linesEnd)].join("");
      this.#held = [];
      this.#heldCharacters = 0;
      this.#parser.feed(lines);
    }
    this.#hold(characters.slice(linesEnd));
  }

  end(): void {
    const rest = this.#decode();
    // Some servers leave out the last blank line.
    if (rest !== undefined) this.#parser.feed([...this.#held, rest, "\n\n"].join(""));
  }

  #hold(characters: string): void {
    if (characters === "") return;
    this.#held.push(characters);
    this.#heldCharacters += characters.length;
    if (this.#heldCharacters > MAX_EVENT_CHARACTERS) this.broken ??= "too_large";
  }

  /** Returns undefined when parsing has stopped. */
  #decode(bytes?: Uint8Array): string | undefined {
    if (this.broken !== undefined) return undefined;
    try {
      return this.#decoder.decode(bytes, { stream: bytes !== undefined });
    } catch {
      this.broken = "malformed";
      return undefined;
    }
  }
}
