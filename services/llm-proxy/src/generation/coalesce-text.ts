import type { Sink } from "../providers/index.ts";

/** The sink applies backpressure when the unread text since the last non-text part reaches this length. */
const MAX_WAITING_CHARACTERS = 16 * 1024;

export type TextSource = {
  /** Settles when the source has passed its last part to the sink. */
  done: Promise<unknown>;
  cancel: () => void;
};

export type CoalescedText<Part extends string | object> = {
  /** Receives the parts. If there is no room, returns a promise that resolves when there is room again. */
  sink: Sink<Part>;
  /**
   * Yields the parts in order, with consecutive texts joined. If the reader stops early, cancels the source and waits for its end. If
   * `done` rejects, throws its error after the last part.
   */
  read: (source: TextSource) => AsyncGenerator<string | Part>;
};

/**
 * Joins the texts that arrive within a window, which ends when `waitForFlush` resolves. The reader gets the first part immediately. When the
 * source ends, the reader gets the remaining parts without waiting for the end of the window.
 */
export function coalesceText<Part extends string | object>(waitForFlush: () => Promise<void>): CoalescedText<Part> {
  let arrival = Promise.withResolvers<void>();
  let roomAvailable: PromiseWithResolvers<void> | undefined;
  let endWindow: (() => void) | undefined;
  /** The parts that arrived before `text`. */
  let earlierParts: (string | Part)[] = [];
  let text = "";
  let hasSourceEnded = false;
  let hasReaderStopped = false;

  const sink: Sink<Part> = (part) => {
    if (typeof part === "string") text += part;
    else {
      earlierParts.push(text, part);
      text = "";
    }
    arrival.resolve();
    if (text.length < MAX_WAITING_CHARACTERS || hasReaderStopped) return undefined;
    roomAvailable ??= Promise.withResolvers();
    return roomAvailable.promise;
  };

  const takeAll = (): (string | Part)[] => {
    const parts = [...earlierParts, text].filter((part) => part !== "");
    earlierParts = [];
    text = "";
    if (!hasSourceEnded) arrival = Promise.withResolvers();
    roomAvailable?.resolve();
    roomAvailable = undefined;
    return parts;
  };

  /** Waits for the end of the window, or of the source. */
  const waitForWindowEnd = () =>
    new Promise<void>((resolve, reject) => {
      endWindow = resolve;
      waitForFlush().then(resolve, reject);
    });

  async function* read({ done, cancel }: TextSource): AsyncGenerator<string | Part> {
    const sourceEnd = done.finally(() => {
      hasSourceEnded = true;
      arrival.resolve();
      endWindow?.();
    });
    // `sourceEnd` is awaited below. If it rejected before that, the rejection would be unhandled.
    sourceEnd.catch(() => undefined);
    try {
      await arrival.promise;
      do {
        yield* takeAll();
        await arrival.promise;
        if (!hasSourceEnded) await waitForWindowEnd();
      } while (!hasSourceEnded || text !== "" || earlierParts.length > 0);
      await sourceEnd;
    } finally {
      hasReaderStopped = true;
      if (!hasSourceEnded) cancel();
      roomAvailable?.resolve();
      await sourceEnd.catch(() => undefined);
    }
  }

  return { sink, read };
}
