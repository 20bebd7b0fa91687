import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { awaitUnlessEnded } from "./screen.ts";

test("awaitUnlessEnded removes its abort listener when the promise settles, because the listener would keep the result in memory", async () => {
  const { signal } = new AbortController();
  for (let refresh = 0; refresh < 3; refresh++)
    expect(await awaitUnlessEnded(Promise.resolve(refresh), signal)).toBe(refresh);
  await expect(awaitUnlessEnded(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("awaitUnlessEnded returns undefined as soon as the signal aborts", async () => {
  const end = new AbortController();
  const result = awaitUnlessEnded(new Promise(() => undefined), end.signal);
  end.abort();
  expect(await result).toBeUndefined();
  expect(await awaitUnlessEnded(new Promise(() => undefined), end.signal)).toBeUndefined();
});
