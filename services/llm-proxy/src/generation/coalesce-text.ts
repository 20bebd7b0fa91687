import type { Sink } from "../providers/index.ts";

/** When more text than this waits to be read, the sink has no room. */
const MAX_WAITING_CHARACTERS = 16 * 1024;

export type Source = {
  /** Settles when the source passes nothing more to the sink. */
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
  read: (source: Source) => AsyncGenerator<string | Part>;
};

/** Joins the texts that arrive before `flush` resolves. The reader gets the first part, and the parts at the source's end, at once. */
export function coalesceText<Part extends string | object>(flush: () => Promise<void>): CoalescedText<Part> {
  let arrival = Promise.withResolvers<void>();
  let room: PromiseWithResolvers<void> | undefined;
  let endWindow: (() => void) | undefined;
  /** The parts that arrived before `text`. */
  let earlier: (string | Part)[] = [];
  let text = "";
  let isOver = false;
  let hasReaderStopped = false;

  const sink: Sink<Part> = (part) => {
    if (typeof part === "string") text += part;
    else {
      earlier.push(text, part);
      text = "";
    }
    arrival.resolve();
    if (text.length < MAX_WAITING_CHARACTERS || hasReaderStopped) return undefined;
    room ??= Promise.withResolvers();
    return room.promise;
  };

  const takeAll = (): (string | Part)[] => {
    const parts = [...earlier, text].filter((part) => part !== "");
    earlier = [];
    text = "";
    if (!isOver) arrival = Promise.withResolvers();
    room?.resolve();
    room = undefined;
    return parts;
  };

  /** Resolves with `flush`, or at the end of the source. */
  const window = () =>
    new Promise<void>((resolve, reject) => {
      endWindow = resolve;
      flush().then(resolve, reject);
    });

  async function* read({ done, cancel }: Source): AsyncGenerator<string | Part> {
    const over = done.finally(() => {
      isOver = true;
      arrival.resolve();
      endWindow?.();
    });
    // `over` is awaited below. If it rejected before that, the rejection would be unhandled.
    over.catch(() => undefined);
    try {
      await arrival.promise;
      do {
        yield* takeAll();
        await arrival.promise;
        if (!isOver) await window();
      } while (!isOver || text !== "" || earlier.length > 0);
      await over;
    } finally {
      hasReaderStopped = true;
      if (!isOver) cancel();
      room?.resolve();
      await over.catch(() => undefined);
    }
  }

  return { sink, read };
}
