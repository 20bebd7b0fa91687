/** So much may wait for its reader; then nothing more is read of the provider. */
const MAX_WAITING_CHARACTERS = 16 * 1024;

/**
 * The texts of `source` in their order, those that come until `flush` resolves joined into one; what is no text keeps its place among
 * them. The very first is passed on at once, and so is what is left at the end. Who stops reading early ends the source.
 */
export async function* joined<Event extends string | object>(
  source: AsyncIterable<Event>,
  flush: () => Promise<void>,
): AsyncGenerator<string | Event> {
  const texts = source[Symbol.asyncIterator]();
  let text = Promise.withResolvers<void>();
  let endWindow: (() => void) | undefined;
  let giveRoom: (() => void) | undefined;
  let before: (string | Event)[] = [];
  let waiting = "";
  let isOver = false;
  let isLeft = false;

  const gather = async () => {
    try {
      while (!isLeft) {
        const next = await texts.next();
        if (next.done) break;
        if (typeof next.value === "string") waiting += next.value;
        else {
          before.push(waiting, next.value);
          waiting = "";
        }
        text.resolve();
        if (waiting.length >= MAX_WAITING_CHARACTERS && !isLeft) {
          await new Promise<void>((resolve) => {
            giveRoom = resolve;
          });
        }
      }
    } finally {
      isOver = true;
      text.resolve();
      endWindow?.();
    }
  };

  /** Resolves with `flush`, or at the end of the source. */
  const window = () =>
    new Promise<void>((resolve, reject) => {
      endWindow = resolve;
      flush().then(resolve, reject);
    });

  const gathering = gather();
  // It is awaited below; until then a failure is nobody's fault.
  gathering.catch(() => undefined);
  try {
    await text.promise;
    do {
      const ready = waiting;
      const earlier = before;
      waiting = "";
      before = [];
      if (!isOver) text = Promise.withResolvers();
      giveRoom?.();
      for (const event of earlier) if (event !== "") yield event;
      if (ready !== "") yield ready;
      await text.promise;
      if (!isOver) await window();
    } while (!isOver || waiting !== "" || before.length > 0);
    await gathering;
  } finally {
    isLeft = true;
    giveRoom?.();
    if (!isOver) await texts.return?.();
    await gathering.catch(() => undefined);
  }
}
