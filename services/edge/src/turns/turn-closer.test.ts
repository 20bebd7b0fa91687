import { type RpcClient, RpcError, status } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import { OUTCOMES } from "@parley/rpc/outcomes";
import { createLogger } from "@parley/service-kit";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createTurnCloser } from "./turn-closer.ts";

// Fake timers replace the global setTimeout, but not the one of node:timers/promises.
const pause = (ms: number) => new Promise<undefined>((resolve) => setTimeout(() => resolve(undefined), ms));

type CloseTurn = RpcClient<typeof ConversationService>["closeTurn"];

/** A time of the database's clock. If close() gets it, the outcome done has a deadline of 4 s. */
const databaseTimeMicroseconds = 1_000_000n;
const turn = { workspaceId: "ws", turnId: "0195c1f0-0000-7000-8000-000000000001" };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function createCloser(
  closeTurn: (...parameters: Parameters<CloseTurn>) => Promise<unknown>,
  log = createLogger("test", "silent"),
) {
  const conversation = { closeTurn } as unknown as RpcClient<typeof ConversationService>;
  return createTurnCloser(conversation, log, () => undefined, pause);
}

test("closes a turn whose OpenTurn commits up to 30 s after it failed at the edge", async () => {
  const committedAtMs = performance.now() + 30_000;
  const outcomes: unknown[] = [];
  const closer = createCloser(async (request) => {
    if (performance.now() < committedAtMs) throw new RpcError(status.NOT_FOUND, "turn_not_found", "no such turn");
    outcomes.push(request.outcome);
    return { outcome: request.outcome };
  });
  closer.closeIfOpened(turn);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(outcomes).toEqual([OUTCOMES.error.proto]);
});

test("closes a turn whose OpenTurn commits after the database was unreachable for longer than OpenTurn's deadline", async () => {
  const reachableAtMs = performance.now() + 60_000;
  const committedAtMs = reachableAtMs + 5_000;
  const outcomes: unknown[] = [];
  const closer = createCloser(async (request) => {
    if (performance.now() < reachableAtMs) throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
    if (performance.now() < committedAtMs) throw new RpcError(status.NOT_FOUND, "turn_not_found", "no such turn");
    outcomes.push(request.outcome);
    return { outcome: request.outcome };
  });
  closer.closeIfOpened(turn);
  await vi.advanceTimersByTimeAsync(120_000);
  expect(outcomes).toEqual([OUTCOMES.error.proto]);
});

test("if the result of OpenTurn is unknown, leaves the turn to the sweeper after 13 failed CloseTurn calls", async () => {
  const log = createLogger("test", "silent");
  const warn = vi.spyOn(log, "warn");
  let calls = 0;
  const closer = createCloser(async () => {
    calls++;
    throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
  }, log);
  closer.closeIfOpened(turn);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(calls).toBe(13);
  const messages = warn.mock.calls.map((args) => args.at(1));
  expect(messages).toEqual([...Array(12).fill("turn close failed, retrying"), "turn close given up"]);
});

test("gives up if the conversation service cannot even close the turn as an error without content", async () => {
  const sent: unknown[] = [];
  const closer = createCloser(async ({ outcome, content }) => {
    sent.push([outcome, content]);
    throw new RpcError(status.INTERNAL, "internal_error", "internal error");
  });
  const closed = closer.close({ ...turn, outcome: OUTCOMES.done.proto, content: "text", month: "2026-11" }, undefined);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await closed).toBeUndefined();
  expect(sent).toEqual([
    [OUTCOMES.done.proto, "text"],
    [OUTCOMES.done.proto, "text"],
    [OUTCOMES.done.proto, ""],
    [OUTCOMES.done.proto, ""],
    [OUTCOMES.error.proto, ""],
    [OUTCOMES.error.proto, ""],
  ]);
});

const { done, blocked, error } = OUTCOMES;
test.each([
  ["if the turn is not found, does not retry", done, status.NOT_FOUND, [done.proto]],
  ["if the outcome blocked is rejected as invalid, does not retry", blocked, status.INVALID_ARGUMENT, [blocked.proto]],
  [
    "if the outcome done is rejected as invalid, sends the outcome error",
    done,
    status.INVALID_ARGUMENT,
    [done.proto, error.proto],
  ],
  [
    "if the outcome done is rejected as too late, sends the outcome error",
    done,
    status.FAILED_PRECONDITION,
    [done.proto, error.proto],
  ],
])("%s", async (_, outcome, rejection, expected) => {
  const sent: unknown[] = [];
  const closer = createCloser(async (request) => {
    sent.push(request.outcome);
    throw new RpcError(rejection, "rejected", "rejected");
  });
  const closed = closer.close({ ...turn, outcome: outcome.proto }, databaseTimeMicroseconds);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await closed).toBeUndefined();
  expect(sent).toEqual(expected);
});

test.each([
  ["NOT_FOUND", status.NOT_FOUND],
  ["INVALID_ARGUMENT", status.INVALID_ARGUMENT],
  ["FAILED_PRECONDITION", status.FAILED_PRECONDITION],
])("retries the same outcome after a %s that the conversation service did not send", async (_, foreignStatus) => {
  let failures = 3;
  const stored: unknown[] = [];
  const closer = createCloser(async ({ outcome, content }) => {
    const foreign = { isFromParley: false };
    if (failures-- > 0) throw new RpcError(foreignStatus, status[foreignStatus].toLowerCase(), "no route", foreign);
    stored.push([outcome, content]);
    return { outcome };
  });
  const closed = closer.close({ ...turn, outcome: done.proto, content: "text" }, undefined);
  closer.closeIfOpened(turn);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(await closed).toEqual({ outcome: done.proto });
  expect(stored).toEqual([
    [done.proto, "text"],
    [error.proto, undefined],
  ]);
});

test("logs that timings were not recorded, and does not send them again", async () => {
  const log = createLogger("test", "silent");
  const warn = vi.spyOn(log, "warn");
  let calls = 0;
  const closer = createCloser(async () => {
    calls++;
    throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
  }, log);
  closer.recordTimings({ ...turn, outcome: blocked.proto });
  await vi.advanceTimersByTimeAsync(600_000);
  expect(calls).toBe(1);
  expect(warn.mock.calls).toEqual([[expect.objectContaining({ turn_id: turn.turnId }), "turn timings not recorded"]]);
});

test("if the outcome done cannot be stored before its deadline, drain waits until the turn is stored as an error", async () => {
  const reachableAtMs = performance.now() + 7_000;
  const outcomes: unknown[] = [];
  const closer = createCloser(async (request) => {
    if (performance.now() < reachableAtMs) throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
    outcomes.push(request.outcome);
    return { outcome: request.outcome };
  });
  void closer.close({ ...turn, outcome: OUTCOMES.done.proto }, databaseTimeMicroseconds);
  const drained = closer.drain(20_000).then(() => [...outcomes]);
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await drained).toEqual([OUTCOMES.error.proto]);
});

test.each([
  ["3 s", 3_000, false, done.proto, 4_000],
  ["5 s", 5_000, false, error.proto, 8_000],
  ["5 s, with an idempotency key", 5_000, true, error.proto, 8_000],
  ["30 s", 30_000, false, undefined, 14_000],
  ["30 s, with an idempotency key", 30_000, true, error.proto, 34_000],
])(
  "after an outage of %s, a complete reply ends with the outcome that could be stored",
  async (_, outageMs, isKeyed, outcome, withinMs) => {
    const startedAtMs = performance.now();
    const closer = createCloser(async (request) => {
      if (performance.now() < startedAtMs + outageMs)
        throw new RpcError(status.UNAVAILABLE, "unavailable", "unavailable");
      return { outcome: request.outcome };
    });
    const closed = closer
      .close({ ...turn, outcome: done.proto }, databaseTimeMicroseconds, { isKeyed })
      .then((stored) => ({ outcome: stored?.outcome, afterMs: performance.now() - startedAtMs }));
    await vi.advanceTimersByTimeAsync(60_000);
    const { outcome: storedOutcome, afterMs } = await closed;
    expect(storedOutcome).toBe(outcome);
    expect(afterMs).toBeGreaterThanOrEqual(Math.min(outageMs, 14_000));
    expect(afterMs).toBeLessThanOrEqual(withinMs);
  },
);
