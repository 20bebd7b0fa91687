import { RpcError, status } from "@parley/rpc";
import { expect, test, vi } from "vitest";
import { TURN_REQUEST } from "../testing/turn-request.ts";
import { KeyedReply } from "./keyed-reply.ts";
import { runKeyedTurn } from "./run-keyed-turn.ts";
import type { TurnDeps } from "./run-turn.ts";
import { RunningTurns } from "./running-turns.ts";
import { Stopwatch } from "./stopwatch.ts";

const LOST = new RpcError(status.UNAVAILABLE, "unavailable", "the connection was lost");
const OVERLOADED = new RpcError(status.RESOURCE_EXHAUSTED, "overloaded", "too many calls wait for the database");
const MALFORMED = new RpcError(status.INVALID_ARGUMENT, "invalid_argument", "visitor_metadata must be a JSON object");

const request = { ...TURN_REQUEST, keyHash: new Uint8Array(32), requestHash: new Uint8Array(32) };

test.each([
  [
    "passes the turn to the TurnCloser if OpenTurn is refused as overloaded after a lost response",
    [LOST, OVERLOADED],
    1,
  ],
  [
    "does not pass the turn to the TurnCloser if OpenTurn is refused as overloaded at the first attempt",
    [OVERLOADED],
    0,
  ],
  ["does not pass the turn to the TurnCloser if OpenTurn is refused as malformed", [MALFORMED], 0],
])("%s", async (_, failures, closeCalls) => {
  const attempts = [...failures];
  const closeIfOpened = vi.fn();
  const deps = {
    conversation: { openTurn: () => Promise.reject(attempts.shift()) },
    turnCloser: { closeIfOpened },
    runningTurns: new RunningTurns(),
    turnStartLimiter: { begin: () => Promise.resolve(() => undefined) },
  } as unknown as TurnDeps;
  const reply = new KeyedReply(request, 1_000, () => undefined);
  const opening = reply.waitForOpening(new AbortController().signal);
  const running = runKeyedTurn(deps, request, reply, { stopwatch: new Stopwatch(() => 0, "open") });
  await expect(running).rejects.toBe(failures.at(-1));
  await expect(opening).rejects.toBe(failures.at(-1));
  expect(attempts).toEqual([]);
  expect(closeIfOpened.mock.calls).toMatchObject(
    Array.from({ length: closeCalls }, () => [{ workspaceId: "ws", turnId: TURN_REQUEST.turnId }]),
  );
});

test("passes the turn to the TurnCloser if a consent is required after a lost response", async () => {
  const consentRequired = { version: "1", text: "text", link: "" };
  const openTurn = vi.fn().mockRejectedValueOnce(LOST).mockResolvedValueOnce({ consentRequired });
  const closeIfOpened = vi.fn();
  const deps = {
    conversation: { openTurn },
    turnCloser: { closeIfOpened },
    runningTurns: new RunningTurns(),
    turnStartLimiter: { begin: () => Promise.resolve(() => undefined) },
  } as unknown as TurnDeps;
  const reply = new KeyedReply(request, 1_000, () => undefined);
  const running = runKeyedTurn(deps, request, reply, { stopwatch: new Stopwatch(() => 0, "open") });
  await expect(running).rejects.toMatchObject({ code: "consent_required" });
  expect(closeIfOpened.mock.calls).toMatchObject([[{ workspaceId: "ws", turnId: TURN_REQUEST.turnId }]]);
});

test("opens no turn if the message is refused when it is counted, and gives every reader the refusal", async () => {
  const refusal = new Error("refused");
  const openTurn = vi.fn();
  const closeIfOpened = vi.fn();
  const release = vi.fn();
  const deps = {
    conversation: { openTurn },
    turnCloser: { closeIfOpened },
    runningTurns: new RunningTurns(),
    turnStartLimiter: { begin: () => Promise.resolve(release) },
  } as unknown as TurnDeps;
  const reply = new KeyedReply(request, 1_000, () => undefined);
  const readers = [1, 2].map(() => reply.waitForOpening(new AbortController().signal));
  const stopwatch = new Stopwatch(() => 0, "open");
  const running = runKeyedTurn(deps, request, reply, { stopwatch, countMessage: () => Promise.reject(refusal) });
  await expect(running).rejects.toBe(refusal);
  for (const reader of readers) await expect(reader).rejects.toBe(refusal);
  expect([openTurn, closeIfOpened, release].map((each) => each.mock.calls.length)).toEqual([0, 0, 1]);
});
