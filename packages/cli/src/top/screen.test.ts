import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { awaitUnlessAborted } from "./screen.ts";

test("awaitUnlessAborted removes its abort listener when the promise settles, because the listener would keep the result in memory", async () => {
  const { signal } = new AbortController();
  for (let refresh = 0; refresh < 3; refresh++)
    expect(await awaitUnlessAborted(Promise.resolve(refresh), signal)).toBe(refresh);
  await expect(awaitUnlessAborted(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("awaitUnlessAborted returns undefined as soon as the signal aborts", async () => {
  const end = new AbortController();
  const result = awaitUnlessAborted(new Promise(() => undefined), end.signal);
  end.abort();
  expect(await result).toBeUndefined();
  expect(await awaitUnlessAborted(new Promise(() => undefined), end.signal)).toBeUndefined();
});
