import { create } from "@bufbuild/protobuf";
import { HandoffState, ReadHandoffResponseSchema } from "@parley/rpc/conversation";
import { expect, onTestFinished, test, vi } from "vitest";
import { followHandoff } from "./follow-handoff.service.ts";
import { LocalLiveBus } from "./live-bus.ts";

const SESSION = { workspaceId: "w", botId: "b", sessionId: "s", visitorId: "", visitorVerified: false };
const WAIT_MS = 10_000;
/** The conversation service ends a wait some seconds late. */
const END_MS = WAIT_MS + 4_000;

test("writes the end of a conversation after its last message, also if there are more messages than in a page", async () => {
  const bot = { state: HandoffState.BOT, reason: "resolved", changedAtMicroseconds: 1n };
  const pageWith = (id: bigint, hasMore: boolean) =>
    create(ReadHandoffResponseSchema, { handoff: bot, messages: [{ id, content: "x" }], hasMore, position: id });
  const controller = new AbortController();
  const events: string[] = [];
  const write = (event: string) => {
    events.push(event);
    if (event === "state") controller.abort();
    return undefined;
  };
  const deps = { conversation: { readHandoff: async () => pageWith(2n, false) }, bus: new LocalLiveBus() };
  await followHandoff(deps, SESSION, { write }, { first: pageWith(1n, true), signal: controller.signal });
  expect(events).toEqual(["message", "message", "state"]);
});

test("shows within 2 s that nobody came, although no signal announces it", async () => {
  vi.useFakeTimers();
  const controller = new AbortController();
  const startMs = Date.now();
  const read = () => {
    const elapsedMs = Date.now() - startMs;
    return create(ReadHandoffResponseSchema, {
      handoff:
        elapsedMs < END_MS
          ? { state: HandoffState.REQUESTED, changedAtMicroseconds: 1n, expiresInMs: Math.max(0, WAIT_MS - elapsedMs) }
          : { state: HandoffState.BOT, reason: "missed", changedAtMicroseconds: 2n },
    });
  };
  const states: string[] = [];
  const write = (_event: string, data: object) => {
    states.push((data as { state: string }).state);
    return undefined;
  };
  const bus = Object.assign(new LocalLiveBus(), { isShared: () => true });
  const deps = { conversation: { readHandoff: async () => read() }, bus };
  const ended = followHandoff(deps, SESSION, { write }, { first: read(), signal: controller.signal });
  onTestFinished(async () => {
    controller.abort();
    await ended;
    vi.useRealTimers();
  });
  await vi.advanceTimersByTimeAsync(END_MS - 1);
  expect(states).toEqual(["requested"]);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(states).toEqual(["requested", "bot"]);
});
