/** Of one message; what is said at one moment is divided where it would be longer. */
const MAX_MESSAGE_BYTES = 64 * 1024;

type Stream<Message> = {
  write(message: Message): boolean;
  once(event: "drain", listener: () => void): unknown;
};

/**
 * Writes frames to a stream, those of one turn of the event loop in one message, and while the other end does not read, none. What then
 * waits is for whoever pushes it to bound.
 */
export class Gathered<Frame, Message> {
  readonly #stream: Stream<Message>;
  readonly #toMessage: (frames: Frame[]) => Message;
  #waiting: { frame: Frame; bytes: number }[] = [];
  #isScheduled: boolean = false;
  #isBlocked: boolean = false;

  constructor(stream: Stream<Message>, toMessage: (frames: Frame[]) => Message) {
    this.#stream = stream;
    this.#toMessage = toMessage;
  }

  /** Whether the other end does not read. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** @param bytes about how long the frame is. */
  push(frame: Frame, bytes: number): void {
    this.#waiting.push({ frame, bytes });
    if (this.#isScheduled || this.#isBlocked) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#write();
    });
  }

  /** Writes what waits at once, also to an end that does not read: nothing comes after it. */
  flush(): void {
    while (this.#waiting.length > 0) this.#stream.write(this.#nextMessage());
  }

  #write(): void {
    while (this.#waiting.length > 0 && !this.#isBlocked) {
      if (this.#stream.write(this.#nextMessage())) continue;
      this.#isBlocked = true;
      this.#stream.once("drain", () => {
        this.#isBlocked = false;
        this.#write();
      });
    }
  }

  #nextMessage(): Message {
    const all = this.#waiting;
    let bytes = 0;
    let count = 0;
    for (const each of all) {
      if (count > 0 && bytes + each.bytes > MAX_MESSAGE_BYTES) break;
      bytes += each.bytes;
      count++;
    }
    this.#waiting = all.slice(count);
    return this.#toMessage(all.slice(0, count).map(({ frame }) => frame));
  }
}
