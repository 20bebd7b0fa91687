import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { untilEnded } from "./screen.ts";

test("untilEnded removes its abort listener when the work is done, because the listener would keep the result in memory", async () => {
  const { signal } = new AbortController();
  for (let refresh = 0; refresh < 3; refresh++)
    expect(await untilEnded(Promise.resolve(refresh), signal)).toBe(refresh);
  await expect(untilEnded(Promise.reject(new Error("failed")), signal)).rejects.toThrow("failed");
  expect(getEventListeners(signal, "abort")).toEqual([]);
});

test("untilEnded returns undefined as soon as the signal aborts", async () => {
  const end = new AbortController();
  const result = untilEnded(new Promise(() => undefined), end.signal);
  end.abort();
  expect(await result).toBeUndefined();
  expect(await untilEnded(new Promise(() => undefined), end.signal)).toBeUndefined();
});
