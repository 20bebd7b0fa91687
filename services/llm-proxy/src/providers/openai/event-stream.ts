import { createParser, type EventSourceMessage } from "eventsource-parser";

/** One event may hold a very long token, but not an endless one. */
const MAX_EVENT_CHARACTERS = 8 * 1024 * 1024;
/** An event that is a comment for want of its first byte, or of the line's end before it. Providers' own comments are words or nothing. */
const EVENT_AS_COMMENT = /^d?ata:|\{\s*"/;

/**
 * Server-Sent Events out of bytes, however they are cut. Unlike a browser it passes over no line it does not know: an event lost
 * so would be a hole in the text.
 */
export class EventStream {
  /** Why nothing more is read, once that is so. */
  broken: "malformed" | "too_large" | undefined;
  /** A line was read that is none of an event stream's; the events after it do not follow on those before. */
  hasHole: boolean = false;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true });
  readonly #parser: { feed(characters: string): void };
  // The parser drops the beginning of an unknown line without a word, so that it is given whole lines alone.
  #held: string[] = [];
  #heldCharacters = 0;

  constructor(onEvent: (event: EventSourceMessage) => void) {
    this.#parser = createParser({
      maxBufferSize: MAX_EVENT_CHARACTERS,
      onEvent,
      onComment: (comment) => {
        this.hasHole ||= EVENT_AS_COMMENT.test(comment);
      },
      onError: ({ type }) => {
        if (type === "max-buffer-size-exceeded") this.broken ??= "too_large";
        else if (type === "unknown-field") this.hasHole = true;
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

  /** Undefined when nothing more is to be read. */
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
