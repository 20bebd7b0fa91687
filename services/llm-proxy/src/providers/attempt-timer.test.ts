import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AttemptTimer } from "./attempt-timer.ts";
import { GenerationCancelled, ProviderFailure } from "./failure.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp({ silenceMs = 20, totalMs = 300 } = {}) {
  const caller = new AbortController();
  const attemptTimer = new AttemptTimer({ connectMs: 1, firstTokenMs: 30, silenceMs, totalMs }, caller.signal);
  /** Returns why the attempt is aborted `ms` later; empty if it is not. */
  const reasonAfter = (ms: number): string => {
    vi.advanceTimersByTime(ms);
    const { aborted, reason } = attemptTimer.signal;
    if (!aborted) return "";
    return reason instanceof ProviderFailure ? reason.reason : "cancelled";
  };
  /** Text arrives, and its reader takes it at once. */
  const deliverText = () => {
    attemptTimer.pause();
    attemptTimer.resume();
  };
  return { caller, attemptTimer, reasonAfter, deliverText };
}

test("the first text has its own timeout", () => {
  const { reasonAfter } = setUp();
  expect(reasonAfter(29)).toBe("");
  expect(reasonAfter(1)).toBe("first_token_timeout");
});

test("each text restarts the silence timeout", () => {
  const { reasonAfter, deliverText } = setUp();
  for (let piece = 0; piece < 10; piece++) {
    deliverText();
    expect(reasonAfter(19)).toBe("");
  }
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("signs of life restart the timeout before the first text, which is then at least the first-token timeout", () => {
  const { attemptTimer, reasonAfter, deliverText } = setUp();
  for (let sign = 0; sign < 5; sign++) {
    expect(reasonAfter(29)).toBe("");
    attemptTimer.recordSignOfLife();
  }
  expect(reasonAfter(29)).toBe("");
  deliverText();
  expect(reasonAfter(19)).toBe("");
  attemptTimer.recordSignOfLife();
  expect(reasonAfter(19)).toBe("");
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("without text, silence after a sign of life ends the attempt", () => {
  const { attemptTimer, reasonAfter } = setUp({ silenceMs: 50 });
  attemptTimer.recordSignOfLife();
  expect(reasonAfter(49)).toBe("");
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("the total timeout bounds an attempt that has only signs of life", () => {
  const { attemptTimer, reasonAfter } = setUp();
  for (let sign = 0; sign < 14; sign++) {
    expect(reasonAfter(20)).toBe("");
    attemptTimer.recordSignOfLife();
  }
  expect(reasonAfter(20)).toBe("total_timeout");
});

test("signs of life after the completion has finished do not extend the wait for token counts", () => {
  const { attemptTimer, reasonAfter, deliverText } = setUp();
  deliverText();
  attemptTimer.finish();
  attemptTimer.pause();
  attemptTimer.resume();
  expect(reasonAfter(19)).toBe("");
  attemptTimer.recordSignOfLife();
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("the silence timeout does not apply while text waits for its reader", () => {
  const { attemptTimer, reasonAfter } = setUp();
  attemptTimer.pause();
  expect(reasonAfter(100)).toBe("");
  attemptTimer.resume();
  expect(reasonAfter(19)).toBe("");
  attemptTimer.pause();
  expect(reasonAfter(100)).toBe("");
  attemptTimer.resume();
  expect(reasonAfter(20)).toBe("silence_timeout");
});

test("the total timeout also applies while text waits for its reader", () => {
  const { attemptTimer, reasonAfter } = setUp();
  attemptTimer.pause();
  expect(reasonAfter(300)).toBe("total_timeout");
});

test("finish() starts the silence timeout even if no text has arrived", () => {
  const { attemptTimer, reasonAfter } = setUp();
  attemptTimer.finish();
  expect(reasonAfter(19)).toBe("");
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("after the completion has finished, token counts must arrive within 2 s, even if the silence timeout is longer", () => {
  const { attemptTimer, reasonAfter, deliverText } = setUp({ silenceMs: 10_000, totalMs: 60_000 });
  deliverText();
  attemptTimer.finish();
  expect(reasonAfter(1_999)).toBe("");
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("an abort of the caller's signal aborts the attempt with the same reason, even if it came before the attempt", () => {
  const { caller, attemptTimer } = setUp();
  caller.abort(new GenerationCancelled());
  expect(attemptTimer.signal.reason).toBeInstanceOf(GenerationCancelled);
  expect(
    new AttemptTimer({ connectMs: 1, firstTokenMs: 1, silenceMs: 1, totalMs: 1 }, caller.signal).signal.aborted,
  ).toBe(true);
});

test("after stop(), nothing aborts the attempt, and no timer is left", () => {
  const { caller, attemptTimer, reasonAfter } = setUp();
  attemptTimer.stop();
  caller.abort(new GenerationCancelled());
  expect(reasonAfter(1_000)).toBe("");
  expect(vi.getTimerCount()).toBe(0);
});
