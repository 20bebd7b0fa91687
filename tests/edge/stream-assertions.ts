import { expect } from "vitest";
import type { ChatResult } from "../system/chat.ts";

/** Expects `meta` first, exactly one `done` last, and an `error` just before `done` if and only if the turn failed. */
export function expectWellFormed({ events, done }: ChatResult, label: string): void {
  const names = events.map(({ event }) => event);
  expect(names[0], label).toBe("meta");
  expect(names.at(-1), label).toBe("done");
  expect(
    names.filter((name) => name === "done" || name === "meta"),
    label,
  ).toHaveLength(2);
  expect(["stop", "error"], label).toContain(done?.finish_reason);
  expect(names.indexOf("error"), label).toBe(done?.finish_reason === "error" ? names.length - 2 : -1);
}

/** Expects the reply to be the whole text if the turn succeeded, or a prefix of the text if the turn failed. */
export function expectWholeTextOrPrefix({ text, done }: ChatResult, fullText: string, label: string): void {
  if (done?.finish_reason === "error") expect(fullText.startsWith(text), `${label}: ${text}`).toBe(true);
  else expect(text, label).toBe(fullText);
}
