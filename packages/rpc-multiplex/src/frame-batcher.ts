/** Limit of a message with several frames. A larger frame gets a message of its own. */
const MAX_MESSAGE_BYTES = 64 * 1024;

type MessageStream<Message> = {
  write(message: Message): boolean;
  once(event: "drain", listener: () => void): unknown;
};

/**
 * Writes the frames of one iteration of the event loop in as few messages as MAX_MESSAGE_BYTES allows. Under backpressure, writes nothing until
 * the stream has drained: the caller must limit how many frames it adds meanwhile.
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

  get isBlocked(): boolean {
    return this.#isBlocked;
  }

  /** `bytes` is the frame's approximate size. */
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
