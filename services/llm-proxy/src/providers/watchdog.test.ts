import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { CallCancelled, ProviderFailure } from "./failure.ts";
import { Watchdog } from "./watchdog.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function setUp() {
  const caller = new AbortController();
  const watchdog = new Watchdog({ connectMs: 1, firstTokenMs: 30, silenceMs: 20, totalMs: 300 }, caller.signal);
  const reasonAfter = (ms: number): string => {
    vi.advanceTimersByTime(ms);
    const { aborted, reason } = watchdog.signal;
    if (!aborted) return "";
    return reason instanceof ProviderFailure ? reason.reason : "cancelled";
  };
  const text = () => {
    watchdog.pause();
    watchdog.resume();
  };
  return { caller, watchdog, reasonAfter, text };
}

test("the first text has its own timeout", () => {
  const { reasonAfter } = setUp();
  expect(reasonAfter(29)).toBe("");
  expect(reasonAfter(1)).toBe("first_token_timeout");
});

test("each text restarts the silence timeout", () => {
  const { reasonAfter, text } = setUp();
  for (let piece = 0; piece < 10; piece++) {
    text();
    expect(reasonAfter(19)).toBe("");
  }
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("the time that text waits for its reader is not silence", () => {
  const { watchdog, reasonAfter } = setUp();
  watchdog.pause();
  expect(reasonAfter(100)).toBe("");
  watchdog.resume();
  expect(reasonAfter(19)).toBe("");
  watchdog.pause();
  expect(reasonAfter(100)).toBe("");
  watchdog.resume();
  expect(reasonAfter(20)).toBe("silence_timeout");
});

test("the total timeout applies while text waits for its reader too", () => {
  const { watchdog, reasonAfter } = setUp();
  watchdog.pause();
  expect(reasonAfter(300)).toBe("total_timeout");
});

test("after the completion has finished, the silence timeout applies", () => {
  const { watchdog, reasonAfter, text } = setUp();
  text();
  watchdog.finish();
  expect(reasonAfter(19)).toBe("");
  expect(reasonAfter(1)).toBe("silence_timeout");
});

test("an abort of the outer signal aborts with the same reason, before and after the start", () => {
  const { caller, watchdog } = setUp();
  caller.abort(new CallCancelled());
  expect(watchdog.signal.reason).toBeInstanceOf(CallCancelled);
  expect(new Watchdog({ connectMs: 1, firstTokenMs: 1, silenceMs: 1, totalMs: 1 }, caller.signal).signal.aborted).toBe(
    true,
  );
});

test("does nothing after it was stopped", () => {
  const { caller, watchdog, reasonAfter } = setUp();
  watchdog.stop();
  caller.abort(new CallCancelled());
  expect(reasonAfter(1_000)).toBe("");
  expect(vi.getTimerCount()).toBe(0);
});
