/** The largest message that several frames share. A larger frame gets a message of its own. */
const MAX_MESSAGE_BYTES = 64 * 1024;

type MessageStream<Message> = {
  write(message: Message): boolean;
  once(event: "drain", listener: () => void): unknown;
};

/**
 * Writes the frames of one iteration of the event loop as one message, or as several messages if they exceed MAX_MESSAGE_BYTES together. Under
 * backpressure, writes nothing until the stream has drained. The caller must limit how many frames it adds during that time.
 */
export class FrameBatcher<Frame, Message> {
  readonly #stream: MessageStream<Message>;
  readonly #toMessage: (frames: Frame[]) => Message;
  #pending: { frame: Frame; bytes: number }[] = [];
  #isScheduled: boolean = false;
  #isBlocked: boolean = false;

  constructor(stream: MessageStream<Message>, toMessage: (frames: Frame[]) => Message) {
    this.#stream = stream;
    this.#toMessage = toMessage;
  }

  /** Whether the stream is under backpressure. */
  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** Adds a frame to the next message. `bytes` is the frame's approximate size. */
  add(frame: Frame, bytes: number): void {
    this.#pending.push({ frame, bytes });
    if (this.#isScheduled || this.#isBlocked) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#writePending();
    });
  }

  /** Writes all pending frames immediately, even under backpressure. For the last frames of a stream. */
  flush(): void {
    while (this.#pending.length > 0) this.#stream.write(this.#nextMessage());
  }

  #writePending(): void {
    while (this.#pending.length > 0 && !this.#isBlocked) {
      if (this.#stream.write(this.#nextMessage())) continue;
      this.#isBlocked = true;
      this.#stream.once("drain", () => {
        this.#isBlocked = false;
        this.#writePending();
      });
    }
  }

  #nextMessage(): Message {
    const pending = this.#pending;
    let bytes = 0;
    let count = 0;
    for (const each of pending) {
      if (count > 0 && bytes + each.bytes > MAX_MESSAGE_BYTES) break;
      bytes += each.bytes;
      count++;
    }
    this.#pending = pending.slice(count);
    return this.#toMessage(pending.slice(0, count).map(({ frame }) => frame));
  }
}
