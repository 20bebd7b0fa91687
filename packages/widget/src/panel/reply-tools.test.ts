import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ChunkContext } from "./chunk.ts";
import { createToolsLoader } from "./reply-tools.ts";
import type { SessionStore } from "./session-store.ts";

beforeEach(() => {
  vi.stubGlobal("TOOLS", ["tools.js", "sha256-x"]);
  vi.spyOn(console, "warn").mockImplementation(() => undefined);
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

it("loads the chunk at once, and after a failure only when no reply is growing", async () => {
  const tools = { update: () => undefined };
  const load = vi
    .fn()
    .mockRejectedValueOnce(new Error("offline"))
    .mockResolvedValue({ mountTools: async () => tools });
  const show = vi.fn();
  const getTools = createToolsLoader({ load } as unknown as ChunkContext, {
    store: {} as SessionStore,
    show,
    onTurnEnd: () => undefined,
  });
  for (let frame = 0; frame < 5; frame++) {
    expect(getTools(false)).toBeUndefined();
    // Lets the load fail.
    await new Promise((resolve) => setTimeout(resolve));
  }
  expect(load).toHaveBeenCalledTimes(1);
  expect(getTools(true)).toBeUndefined();
  await vi.waitFor(() => expect(show).toHaveBeenCalledTimes(1));
  expect(getTools(false)).toBe(tools);
  expect(load).toHaveBeenCalledTimes(2);
});
