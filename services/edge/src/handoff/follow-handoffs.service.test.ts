import { expect, onTestFinished, test, vi } from "vitest";
import { LocalLiveBus } from "../live/live-bus.ts";
import { followHandoffs } from "./follow-handoffs.service.ts";

const conversation = (id: string, activity = "1", notes = 0) => ({
  id,
  since: "0",
  last_activity_at: activity,
  notes,
});

/** Follows the list of the workspace `w`. Each change of `state.list` is what the next read returns. */
function follow() {
  vi.useFakeTimers();
  const [bus, controller] = [new LocalLiveBus(), new AbortController()];
  const state = { list: [conversation("a")], agents: [] as object[], reads: 0, isDown: false };
  const written: string[][] = [];
  const list = async () => {
    state.reads++;
    if (state.isDown) throw new Error("unavailable");
    return { conversations: state.list, agents: state.agents };
  };
  const write = (event: string, data: object) => {
    expect(event).toBe("handoffs");
    written.push((data as { conversations: typeof state.list }).conversations.map(({ id }) => id));
    return undefined;
  };
  const first = { conversations: state.list, agents: [] };
  const ended = followHandoffs({ bus, list }, "w", { write }, { first, signal: controller.signal });
  onTestFinished(async () => {
    controller.abort();
    await ended;
    vi.useRealTimers();
  });
  return { bus, state, written };
}

test("writes the list at first, and after a signal of the workspace if it has changed", async () => {
  const { bus, state, written } = follow();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written).toEqual([["a"]]);
  state.list = [conversation("a"), conversation("b")];
  bus.publish({ workspaceId: "other", sessionId: "b", type: "changed" });
  bus.publish({ workspaceId: "w", sessionId: "b", type: "typing", name: "Anna" });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(written).toHaveLength(1);
  bus.publish({ workspaceId: "w", sessionId: "b", type: "changed" });
  await vi.advanceTimersByTimeAsync(0);
  expect(written).toEqual([["a"], ["a", "b"]]);
  state.list = [conversation("a", "2"), conversation("b")];
  bus.publish({ workspaceId: "w", sessionId: "a", type: "changed" });
  await vi.advanceTimersByTimeAsync(600);
  expect(written).toHaveLength(3);
  state.agents = [{ id: "ben", name: "Ben", is_here: true }];
  await vi.advanceTimersByTimeAsync(4_000);
  expect(written).toHaveLength(4);
});

test("finds a change without a signal, and after an outage of the conversation service", async () => {
  const { state, written } = follow();
  state.list = [];
  state.isDown = true;
  await vi.advanceTimersByTimeAsync(8_000);
  expect(written).toEqual([["a"]]);
  state.isDown = false;
  await vi.advanceTimersByTimeAsync(4_000);
  expect(written).toEqual([["a"], []]);
});

test("reads at most twice a second while many visitors write", async () => {
  const { bus, state } = follow();
  for (let sent = 0; sent < 100; sent++) {
    bus.publish({ workspaceId: "w", sessionId: "a", type: "changed" });
    await vi.advanceTimersByTimeAsync(50);
  }
  expect(state.reads).toBeLessThanOrEqual(11);
});
