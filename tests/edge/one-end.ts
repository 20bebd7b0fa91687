import { expect } from "vitest";
import type { ChatResult } from "../system/chat.ts";

/** Whatever befell it: meta first, exactly one done, last, and an error before it where it failed. */
export function expectOneEnd({ events, done }: ChatResult, what: string): void {
  const names = events.map(({ event }) => event);
  expect(names[0], what).toBe("meta");
  expect(names.at(-1), what).toBe("done");
  expect(
    names.filter((name) => name === "done" || name === "meta"),
    what,
  ).toHaveLength(2);
  expect(["stop", "error"], what).toContain(done?.finish_reason);
  expect(names.indexOf("error"), what).toBe(done?.finish_reason === "error" ? names.length - 2 : -1);
}

/** Nothing was said that was not meant: the beginning of the text, or, where it did not fail, all of it. */
export function expectNoOtherText({ text, done }: ChatResult, wholeText: string, what: string): void {
  if (done?.finish_reason === "error") expect(wholeText.startsWith(text), `${what}: ${text}`).toBe(true);
  else expect(text, what).toBe(wholeText);
}
