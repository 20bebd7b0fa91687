import type { StoredTurn } from "@parley/rpc/conversation";
import type { TurnEnding, TurnSink } from "./ending.ts";
import type { MetaEvent } from "./events.ts";

/** Receives a reply's text from the reader's own position on. */
export type ReplyReader = {
  /** Sends a part of the text. If the reader is slow, returns a promise that resolves when it can take more. */
  token(text: string, endOffset: number): Promise<void> | undefined;
  end(ending: TurnEnding): void;
  /** Closes the connection without a terminal event, because it is unknown whether an outcome is stored. The client resumes. */
  disconnect(): void;
};

/** OpenTurn's result. If `isLocal`, this process runs the turn. Otherwise the idempotency key belongs to the turn `existing`. */
export type Opening = { isLocal: true } | { isLocal: false; existing: StoredTurn };

/** `closing`: the text is complete, and its outcome is being stored. `ended`: an outcome is stored, or it is unknown which one. */
type Progress = "running" | "closing" | "ended";

/**
 * - `read`: no reader has left yet, or a reader is attached.
 * - `unread`: the last reader has left. After `detachedMs`, the reply is cancelled.
 * - `abandoned`: cancelled while it was unread.
 * - `stopped`: cancelled while it was read.
 */
type Readership = "read" | "unread" | "abandoned" | "stopped";

const MAX_READERS = 8;
/** How long a reader waits for the stored outcome after the reply is complete. */
const CLOSE_WAIT_MS = 10_000;
/** In UTF-16 code units. */
const MAX_PIECE_LENGTH = 16 * 1024;

/**
 * The reply of a running turn with an idempotency key. Readers attach and detach. Each has its own position in the text, so a slow reader
 * does not delay others. Without readers, the reply continues for `detachedMs` and is then cancelled.
 */
export class KeyedReply implements TurnSink {
  readonly turnId: string;
  readonly requestHash: Uint8Array;
  /** OpenTurn's result or error. */
  readonly opening: Promise<Opening>;
  messageId = 0;
  /** How many readers have attached, not counting the one whose request opened the turn. */
  reconnects = 0;
  readonly #detachedMs: number;
  readonly #onDetachResult: (result: "resumed" | "completed" | "cancelled") => void;
  readonly #followers = new Map<ReplyReader, Follower>();
  readonly #cancelController = new AbortController();
  readonly #endController = new AbortController();
  #resolveOpening: (opening: Opening) => void = () => undefined;
  #rejectOpening: (error: unknown) => void = () => undefined;
  readonly #allClientsGoneController = new AbortController();
  #waiting = 0;
  #text = "";
  #progress: Progress = "running";
  #readership: Readership = "read";
  #ending: TurnEnding | undefined;
  /** Runs while the reply is unread. */
  #detachTimer: NodeJS.Timeout | undefined;

  /** @param onDetachResult called when a reply without readers is resumed, completes or is cancelled. */
  constructor(
    { turnId, requestHash }: { turnId: string; requestHash: Uint8Array },
    detachedMs: number,
    onDetachResult: (result: "resumed" | "completed" | "cancelled") => void,
  ) {
    this.turnId = turnId;
    this.requestHash = requestHash;
    this.#detachedMs = detachedMs;
    this.#onDetachResult = onDetachResult;
    this.opening = new Promise((resolve, reject) => {
      this.#resolveOpening = resolve;
      this.#rejectOpening = reject;
    });
    // Prevents an unhandled rejection if no request waits for `opening`.
    this.opening.catch(() => undefined);
  }

  /** Aborted by cancel(), which is also called after `detachedMs` without readers. */
  get cancelSignal(): AbortSignal {
    return this.#cancelController.signal;
  }

  /** Aborted when the reply is cancelled or the process stops. */
  get endSignal(): AbortSignal {
    return this.#endController.signal;
  }

  get text(): string {
    return this.#text;
  }

  get isFull(): boolean {
    return this.#followers.size >= MAX_READERS;
  }

  cancel(): void {
    if (this.#readership === "read") this.#readership = "stopped";
    if (this.#readership === "unread") this.#readership = "abandoned";
    clearTimeout(this.#detachTimer);
    this.#cancelController.abort();
    this.#endController.abort();
  }

  endForShutdown(): void {
    this.#endController.abort();
  }

  /** Aborted when the client of every request in waitForOpening() has left. */
  get allClientsGoneSignal(): AbortSignal {
    return this.#allClientsGoneController.signal;
  }

  /** Waits for OpenTurn's result or error. @param clientGoneSignal aborted when the waiting request's client leaves. */
  async waitForOpening(clientGoneSignal: AbortSignal): Promise<Opening> {
    this.#waiting++;
    const onGone = () => {
      if (--this.#waiting === 0) this.#allClientsGoneController.abort();
    };
    clientGoneSignal.addEventListener("abort", onGone, { once: true });
    if (clientGoneSignal.aborted) onGone();
    return this.opening.finally(() => clientGoneSignal.removeEventListener("abort", onGone));
  }

  failOpening(error: unknown): void {
    this.#rejectOpening(error);
  }

  /** Called when OpenTurn has found an earlier turn with the same key. */
  resolveToExistingTurn(existing: StoredTurn): void {
    this.#resolveOpening({ isLocal: false, existing });
  }

  meta({ message_id }: MetaEvent): void {
    this.messageId = message_id;
    this.#resolveOpening({ isLocal: true });
    // Lets the requests that wait for `opening` attach their readers first.
    setImmediate(() => this.#becomeUnreadWithoutReaders());
  }

  token(text: string): undefined {
    // The conversation service stores U+FFFD for NUL, and offsets must match the stored text.
    const piece = text.includes("\0") ? text.replaceAll("\0", "\uFFFD") : text;
    this.#text += piece;
    for (const follower of this.#followers.values()) follower.advance(piece);
  }

  /** Called when the reply is complete, before its outcome is stored. */
  beginClosing(): void {
    this.#progress = "closing";
    for (const follower of this.#followers.values()) follower.expectEnd();
  }

  end(ending: TurnEnding): void {
    this.#ending = ending;
    this.#progress = "ended";
    clearTimeout(this.#detachTimer);
    if (this.#readership === "unread" || this.#readership === "abandoned")
      this.#onDetachResult(ending.outcome === "cancelled" ? "cancelled" : "completed");
    for (const follower of this.#followers.values()) follower.advance();
  }

  /** Closes the readers' connections if the turn has no stored ending. */
  dispose(): void {
    this.#progress = "ended";
    clearTimeout(this.#detachTimer);
    if (this.#ending === undefined) for (const reader of [...this.#followers.keys()]) this.#disconnect(reader);
  }

  /**
   * Sends a reader the text from `offset` on, and then each new part.
   * @param isOpener whether the reader's request opened the turn.
   */
  attach(reader: ReplyReader, offset: number, isOpener: boolean): void {
    if (!isOpener) this.reconnects++;
    if (this.#readership === "unread" && this.#progress !== "ended") {
      this.#readership = "read";
      clearTimeout(this.#detachTimer);
      this.#onDetachResult("resumed");
    }
    const state = { text: () => this.#text, ending: () => this.#ending, onOverdue: () => this.#disconnect(reader) };
    const follower = new Follower(reader, state, offset);
    this.#followers.set(reader, follower);
    if (this.#progress !== "running") follower.expectEnd();
    follower.advance();
  }

  detach(reader: ReplyReader): void {
    this.#followers.get(reader)?.stop();
    if (this.#followers.delete(reader)) this.#becomeUnreadWithoutReaders();
  }

  #disconnect(reader: ReplyReader): void {
    this.detach(reader);
    reader.disconnect();
  }

  #becomeUnreadWithoutReaders(): void {
    if (this.#progress === "ended" || this.#readership !== "read" || this.#followers.size > 0) return;
    this.#readership = "unread";
    this.#detachTimer = setTimeout(() => this.cancel(), this.#detachedMs);
  }
}

type FollowedReply = {
  text: () => string;
  ending: () => TurnEnding | undefined;
  /** Called if there is no ending within CLOSE_WAIT_MS of expectEnd(). */
  onOverdue: () => void;
};

/** Sends a running reply to one reader, at the reader's pace. */
class Follower {
  readonly #reader: ReplyReader;
  readonly #reply: FollowedReply;
  #offset: number;
  #isSlow: boolean = false;
  #isStopped: boolean = false;
  #overdueTimer: NodeJS.Timeout | undefined;

  constructor(reader: ReplyReader, reply: FollowedReply, offset: number) {
    this.#reader = reader;
    this.#reply = reply;
    this.#offset = offset;
  }

  /** Sends new text until the reader is slow. @param latest the last part of the text, if the caller has it. */
  advance(latest?: string): void {
    if (this.#isSlow || this.#isStopped) return;
    const text = this.#reply.text();
    while (this.#offset < text.length) {
      // Sends `latest` instead of a slice, because slicing makes V8 flatten the concatenated text at each token.
      const lacksOnlyLatest = latest !== undefined && this.#offset + latest.length === text.length;
      const piece = lacksOnlyLatest ? latest : textPieceAt(text, this.#offset);
      this.#offset += piece.length;
      const drained = this.#reader.token(piece, this.#offset);
      if (drained === undefined) continue;
      this.#isSlow = true;
      void drained.then(() => {
        this.#isSlow = false;
        this.advance();
      });
      return;
    }
    const ending = this.#reply.ending();
    if (ending === undefined) return;
    this.stop();
    this.#reader.end(ending);
  }

  expectEnd(): void {
    this.#overdueTimer ??= setTimeout(() => {
      if (this.#reply.ending() === undefined) this.#reply.onOverdue();
    }, CLOSE_WAIT_MS);
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#overdueTimer);
  }
}

/** Returns the piece of a text that begins at `start`. The piece never ends inside a surrogate pair. */
export function textPieceAt(text: string, start: number): string {
  const end = Math.min(start + MAX_PIECE_LENGTH, text.length);
  return text.slice(start, splitsSurrogatePair(text, end) ? end - 1 : end);
}

/** Whether an offset is inside a surrogate pair. */
export function splitsSurrogatePair(text: string, offset: number): boolean {
  return isBetween(text.charCodeAt(offset - 1), 0xd800, 0xdbff) && isBetween(text.charCodeAt(offset), 0xdc00, 0xdfff);
}

const isBetween = (unit: number, low: number, high: number) => unit >= low && unit <= high;
