import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ChunkContext } from "./chunk.ts";
import { PANEL_ENGLISH } from "./english.ts";
import { createNotices } from "./notices.ts";

beforeEach(() => {
  vi.stubGlobal("NOTICES", ["notices.js", "sha256-x"]);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const general = { text: "Something went wrong. Please try again.", canRetry: true };

/** The chunk can be loaded after `failures` failed attempts. Its notices have the code as their text. */
function open(failures = 0) {
  let left = failures;
  const load = vi.fn(async () => {
    if (left-- > 0) throw new Error("offline");
    return { mountNotices: async () => (text: string) => ({ text, canRetry: false }) };
  });
  const show = vi.fn();
  return { load, show, notices: createNotices({ load, words: PANEL_ENGLISH } as unknown as ChunkContext, show) };
}

it.each(["stopped", "offline", "network", "interrupted"] as const)(
  "has the notice of %s without the chunk",
  async (code) => {
    const { load, notices } = open();
    expect(notices.select(code)).toEqual({ text: PANEL_ENGLISH[code], canRetry: true });
    expect(await notices.load(code)).toEqual({ text: PANEL_ENGLISH[code], canRetry: true });
    expect(load).not.toHaveBeenCalled();
  },
);

it("loads the chunk once for all other codes, and then shows the messages again", async () => {
  const { load, show, notices } = open();
  expect(notices.select("quota_exceeded")).toBeUndefined();
  expect(notices.select("busy")).toBeUndefined();
  expect(await notices.load("ended")).toEqual({ text: "ended", canRetry: false });
  expect(notices.select("quota_exceeded")).toEqual({ text: "quota_exceeded", canRetry: false });
  expect(load).toHaveBeenCalledTimes(1);
  expect(show).toHaveBeenCalledTimes(1);
});

it("has a general notice if the chunk cannot be loaded, until the next failure loads it", async () => {
  const { load, show, notices } = open(1);
  expect(await notices.load("busy")).toEqual(general);
  expect(notices.select("busy")).toEqual(general);
  expect(load).toHaveBeenCalledTimes(1);
  expect(await notices.load("busy")).toEqual({ text: "busy", canRetry: false });
  expect(show).toHaveBeenCalledTimes(2);
});

it("has the general notice if the chunk has not loaded after 15 s", async () => {
  const timer = new AbortController();
  const timeout = vi.spyOn(AbortSignal, "timeout").mockReturnValue(timer.signal);
  const context = { load: () => new Promise(() => undefined), words: PANEL_ENGLISH };
  const notices = createNotices(context as unknown as ChunkContext, () => undefined);
  const loading = notices.load("busy");
  timer.abort();
  expect(await loading).toEqual(general);
  expect(timeout).toHaveBeenCalledWith(15_000);
});
