import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";

const warn = vi.fn();
const error = vi.fn();
const log = { warn, error } as unknown as Logger;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
  vi.clearAllMocks();
});

const never = () => new Promise<void>(() => undefined);

test("runs the closers once, in reverse order of their registration", async () => {
  const lifecycle = new Lifecycle(log);
  const closed: string[] = [];
  for (const name of ["database", "server"]) lifecycle.onClose(name, () => void closed.push(name));
  expect(lifecycle.isClosing).toBe(false);
  const results = [lifecycle.close(1_000), lifecycle.close(1_000)];
  expect(lifecycle.isClosing).toBe(true);
  expect(await Promise.all(results)).toEqual([true, true]);
  expect(closed).toEqual(["server", "database"]);
});

test("isClosing is true when closingSignal is aborted", async () => {
  const lifecycle = new Lifecycle(log);
  const wasClosing = vi.fn();
  lifecycle.closingSignal.addEventListener("abort", () => wasClosing(lifecycle.isClosing));
  await lifecycle.close(1_000);
  expect(wasClosing).toHaveBeenCalledExactlyOnceWith(true);
});

test("after a closer fails or times out, the other closers still run", async () => {
  const lifecycle = new Lifecycle(log);
  const last = vi.fn();
  lifecycle.onClose("last", last);
  lifecycle.onClose("fails", () => Promise.reject(new Error("no")));
  lifecycle.onClose("stuck", never, 5_000);
  const closed = lifecycle.close(60_000);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await closed).toBe(true);
  expect(last).toHaveBeenCalledOnce();
  expect(warn.mock.calls.map(([{ closer }]) => closer)).toEqual(["stuck", "fails"]);
});

test("close returns false after its timeout", async () => {
  const lifecycle = new Lifecycle(log);
  for (const name of ["a", "b", "c", "d"]) lifecycle.onClose(name, never, 10_000);
  const closed = lifecycle.close(30_000);
  await vi.advanceTimersByTimeAsync(29_999);
  expect(error).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(await closed).toBe(false);
  expect(error).toHaveBeenCalledOnce();
});
