import type { Take } from "../providers/index.ts";

/** So much may wait for its reader; then nothing more is to come of the provider. */
const MAX_WAITING_CHARACTERS = 16 * 1024;

/** Begins to tell `take` its parts. `done` settles when nothing more comes; `cancel` is how who wants no more says so. */
type Source<Part> = (take: Take<Part>) => { done: Promise<void>; cancel: () => void };

/**
 * The parts of a source in their order, of its texts those that come until `flush` resolves joined into one; what is no text keeps its
 * place among them. The very first is passed on at once, and so is what is left at the end. Who stops reading early cancels the source
 * and waits for its end.
 */
export async function* joined<Part extends string | object>(
  begin: Source<Part>,
  flush: () => Promise<void>,
): AsyncGenerator<string | Part> {
  let news = Promise.withResolvers<void>();
  let room: PromiseWithResolvers<void> | undefined;
  let endWindow: (() => void) | undefined;
  let before: (string | Part)[] = [];
  let waiting = "";
  let isOver = false;
  let isLeft = false;

  const { done, cancel } = begin((part) => {
    if (typeof part === "string") waiting += part;
    else {
      before.push(waiting, part);
      waiting = "";
    }
    news.resolve();
    if (waiting.length < MAX_WAITING_CHARACTERS || isLeft) return undefined;
    room ??= Promise.withResolvers();
    return room.promise;
  });
  const over = done.finally(() => {
    isOver = true;
    news.resolve();
    endWindow?.();
  });
  // It is awaited below; until then a failure is nobody's fault.
  over.catch(() => undefined);

  /** Resolves with `flush`, or at the end of the source. */
  const window = () =>
    new Promise<void>((resolve, reject) => {
      endWindow = resolve;
      flush().then(resolve, reject);
    });

  try {
    await news.promise;
    do {
      const ready = waiting;
      const earlier = before;
      waiting = "";
      before = [];
      if (!isOver) news = Promise.withResolvers();
      room?.resolve();
      room = undefined;
      for (const part of earlier) if (part !== "") yield part;
      if (ready !== "") yield ready;
      await news.promise;
      if (!isOver) await window();
    } while (!isOver || waiting !== "" || before.length > 0);
    await over;
  } finally {
    isLeft = true;
    if (!isOver) cancel();
    room?.resolve();
    await over.catch(() => undefined);
  }
}
