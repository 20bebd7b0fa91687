import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { HttpError } from "../http/index.ts";
import { watchKey } from "./watch-key.service.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test.each([
  ["is revoked", async () => Promise.reject(new HttpError(401, "invalid_api_key"))],
  ["no longer permits the origin", async () => false],
])("ends a stream within a second after its key %s", async (_, refuse) => {
  const isPermitted = vi.fn(async () => true);
  const { signal, release } = watchKey(isPermitted);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(signal.aborted).toBe(false);
  isPermitted.mockImplementation(refuse);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(signal.aborted).toBe(true);
  release();
  expect(vi.getTimerCount()).toBe(0);
});

test("keeps a stream while the conversation service is away, and makes one call at a time", async () => {
  const fail = () => new Promise<boolean>((_, reject) => setTimeout(reject, 2_000, new HttpError(503, "unavailable")));
  const isPermitted = vi.fn(fail);
  const { signal, release } = watchKey(isPermitted);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(signal.aborted).toBe(false);
  expect(isPermitted.mock.calls.length).toBeLessThanOrEqual(5);
  release();
});
