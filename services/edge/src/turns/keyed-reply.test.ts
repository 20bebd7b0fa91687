import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { TurnEnding } from "./ending.ts";
import { KeyedReply, type ReplyReader, splitsSurrogatePair, textPieceAt } from "./keyed-reply.ts";

const ENDING: TurnEnding = { outcome: "done", errorCode: "", model: "m", tokensIn: 1, tokensOut: 2, latencyMs: 3 };

/** Creates a reader that records what it gets. A slow reader accepts one part and then waits for `drain`. */
function createRecordingReader() {
  const state = { text: "", offsets: [] as number[], end: undefined as TurnEnding | undefined, isDisconnected: false };
  let isSlow = false;
  let drain: () => void = () => undefined;
  const reader: ReplyReader = {
    token(text, endOffset) {
      state.text += text;
      state.offsets.push(endOffset);
      if (!isSlow) return undefined;
      return new Promise((resolve) => {
        drain = resolve;
      });
    },
    end(ending) {
      state.end = ending;
    },
    disconnect() {
      state.isDisconnected = true;
    },
  };
  return {
    reader,
    state,
    becomeSlow() {
      isSlow = true;
    },
    async drain() {
      isSlow = false;
      drain();
      await Promise.resolve();
    },
  };
}

function createReply(detachedMs = 1_000) {
  const results: string[] = [];
  const reply = new KeyedReply({ turnId: "t", requestHash: new Uint8Array() }, detachedMs, (result) =>
    results.push(result),
  );
  return { reply, results };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("KeyedReply", () => {
  test("sends each reader the text from its own position, and then each new part", () => {
    const { reply } = createReply();
    const [first, second] = [createRecordingReader(), createRecordingReader()];
    reply.attach(first.reader, 0, true);
    reply.token("Hello ");
    reply.attach(second.reader, 2, false);
    reply.token("world");
    reply.end(ENDING);
    expect(first.state).toMatchObject({ text: "Hello world", offsets: [6, 11], end: ENDING });
    expect(second.state).toMatchObject({ text: "llo world", offsets: [6, 11], end: ENDING });
    expect(reply.reconnects).toBe(1);
  });

  test("a slow reader does not delay other readers, and gets the rest in one part when it has drained", async () => {
    const { reply } = createReply();
    const [slow, quick] = [createRecordingReader(), createRecordingReader()];
    slow.becomeSlow();
    reply.attach(slow.reader, 0, true);
    reply.attach(quick.reader, 0, false);
    for (const text of ["a", "b", "c"]) reply.token(text);
    reply.end(ENDING);
    expect(quick.state).toMatchObject({ text: "abc", end: ENDING });
    expect(slow.state).toMatchObject({ text: "a", end: undefined });
    await slow.drain();
    expect(slow.state).toMatchObject({ text: "abc", offsets: [1, 3], end: ENDING });
  });

  test("aborts allClientsGoneSignal once every client that waits for the opening has left", async () => {
    const { reply } = createReply();
    const clients = [new AbortController(), new AbortController()];
    for (const { signal } of clients) reply.waitForOpening(signal).catch(() => undefined);
    clients[0]?.abort();
    expect(reply.allClientsGoneSignal.aborted).toBe(false);
    clients[1]?.abort();
    expect(reply.allClientsGoneSignal.aborted).toBe(true);
  });

  test("reports a reply without readers as completed if it began to close before detachedMs had passed", async () => {
    const { reply, results } = createReply();
    reply.meta({ session_id: "s", message_id: 1 });
    await vi.advanceTimersByTimeAsync(500);
    reply.beginClosing();
    await vi.advanceTimersByTimeAsync(5_000);
    reply.end(ENDING);
    expect(results).toEqual(["completed"]);
  });

  test("replaces NUL with U+FFFD, as the conversation service does, so that offsets agree", () => {
    const { reply } = createReply();
    const { reader, state } = createRecordingReader();
    reply.attach(reader, 0, true);
    reply.token("a\0b");
    expect([state.text, reply.text]).toEqual(["a\uFFFDb", "a\uFFFDb"]);
  });

  test("is cancelled when no reader comes back in time", () => {
    const { reply, results } = createReply();
    const { reader } = createRecordingReader();
    reply.attach(reader, 0, true);
    reply.detach(reader);
    vi.advanceTimersByTime(999);
    expect(reply.cancelSignal.aborted).toBe(false);
    vi.advanceTimersByTime(1);
    expect(reply.cancelSignal.aborted).toBe(true);
    reply.end({ ...ENDING, outcome: "cancelled" });
    expect(results).toEqual(["cancelled"]);
  });

  test("counts as cancelled when a reader comes back after the cancellation and before the end", () => {
    const { reply, results } = createReply();
    const { reader } = createRecordingReader();
    reply.attach(reader, 0, true);
    reply.detach(reader);
    vi.advanceTimersByTime(1_000);
    reply.attach(reader, 0, false);
    reply.end({ ...ENDING, outcome: "cancelled" });
    expect(results).toEqual(["cancelled"]);
  });

  test("continues when a reader comes back in time", () => {
    const { reply, results } = createReply();
    const [first, second] = [createRecordingReader(), createRecordingReader()];
    reply.attach(first.reader, 0, true);
    reply.detach(first.reader);
    vi.advanceTimersByTime(999);
    reply.attach(second.reader, 0, false);
    vi.advanceTimersByTime(10_000);
    expect(reply.cancelSignal.aborted).toBe(false);
    expect(results).toEqual(["resumed"]);
  });

  test("disconnects a reader that has waited 10 s for the stored outcome, but not a reader that has waited 1 s", () => {
    const { reply } = createReply(60_000);
    const [first, second] = [createRecordingReader(), createRecordingReader()];
    reply.attach(first.reader, 0, true);
    reply.beginClosing();
    vi.advanceTimersByTime(9_000);
    reply.attach(second.reader, 0, false);
    vi.advanceTimersByTime(1_000);
    expect([first.state.isDisconnected, second.state.isDisconnected]).toEqual([true, false]);
    reply.end(ENDING);
    vi.advanceTimersByTime(60_000);
    expect(second.state).toMatchObject({ isDisconnected: false, end: ENDING });
  });
});

test("a piece of text never ends inside a surrogate pair", () => {
  const text = `${"x".repeat(16 * 1024 - 1)}👋y`;
  const first = textPieceAt(text, 0);
  expect(first).toBe("x".repeat(16 * 1024 - 1));
  expect(textPieceAt(text, first.length)).toBe("👋y");
  expect([splitsSurrogatePair(text, first.length), splitsSurrogatePair(text, first.length + 1)]).toEqual([false, true]);
});
