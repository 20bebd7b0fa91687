import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { fetchWithSession, NoResponseError, readText, renewSession } from "./session-fetch.ts";

// Some supported versions of Node have no navigator.locks.
const locks = { request: (_name: string, callback: () => unknown) => callback() };

beforeEach(() => {
  vi.stubGlobal("navigator", { locks });
});
afterEach(() => {
  vi.unstubAllGlobals();
});

test.each([
  ["a request", () => fetchWithSession("/auth/session")],
  ["a renewal of the session", renewSession],
])("throws NoResponseError if no response to %s arrives", async (_, send) => {
  vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
  await expect(send()).rejects.toThrow(NoResponseError);
});

test("throws NoResponseError if the connection breaks before the response ends", async () => {
  const body = new ReadableStream({ pull: (controller) => controller.error(new TypeError("network error")) });
  await expect(readText(new Response(body))).rejects.toThrow(NoResponseError);
});
