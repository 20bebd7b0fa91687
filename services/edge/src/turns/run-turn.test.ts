import { create } from "@bufbuild/protobuf";
import { CloseTurnResponseSchema, OpenTurnResponseSchema, TurnOutcome } from "@parley/rpc/conversation";
import { GenerateResponseSchema } from "@parley/rpc/llm";
import { ReserveResponseSchema, ReserveStatus } from "@parley/rpc/quota";
import { expect, test } from "vitest";
import { TURN_REQUEST } from "../testing/turn-request.ts";
import type { TurnEnding, TurnSink } from "./ending.ts";
import { completeTurn, type TurnContext, type TurnDeps } from "./run-turn.ts";
import { RunningTurns } from "./running-turns.ts";
import { Stopwatch } from "./stopwatch.ts";

const CLIENT = Buffer.from("client");
const request = { ...TURN_REQUEST, client: CLIENT, edgeId: "edge" };

/** Completes a turn that is cancelled after the first text: by its visitor, or by a takeover. `steps` lists what the turn did. */
async function completeCancelledTurn({ isRefused = false, isTakeover = false }) {
  const steps: string[] = [];
  const leaving = new AbortController();
  const runningTurns = new RunningTurns();
  runningTurns.add(request, () => leaving.abort());
  async function* generate() {
    steps.push("generate");
    yield create(GenerateResponseSchema, { event: { case: "delta", value: { text: "Hello" } } });
    void runningTurns.cancel(request.turnId, 0, isTakeover);
    throw new Error("cancelled");
  }
  const deps = {
    runningTurns,
    quota: {
      async reserve() {
        steps.push("reserve");
        return create(ReserveResponseSchema, { status: ReserveStatus.HELD, month: "2026-01", day: "2026-01-31" });
      },
    },
    llm: { generate },
    turnCloser: {
      async close({ outcome, errorCode, unpaidDay }: { outcome: TurnOutcome; errorCode: string; unpaidDay: string }) {
        steps.push(`close ${TurnOutcome[outcome]} ${errorCode}${unpaidDay}`);
        return create(CloseTurnResponseSchema, { outcome, errorCode });
      },
    },
    unpaidReplies: {
      isRefused: (client: Uint8Array) => isRefused && client === CLIENT,
      count: async (client: Uint8Array) => void steps.push(`count ${client}`),
    },
  } as unknown as TurnDeps;
  const endings: TurnEnding[] = [];
  const sink = { meta: () => undefined, token: () => undefined, end: (ending) => endings.push(ending) } as TurnSink;
  const context: TurnContext = {
    sink,
    stopwatch: new Stopwatch(() => 0, "open"),
    cancelSignal: leaving.signal,
    endSignal: leaving.signal,
    releaseStart: () => undefined,
  };
  await completeTurn(deps, request, create(OpenTurnResponseSchema, { messageId: 1n, model: "m" }), context);
  return { steps, endings };
}

test("counts an unpaid reply before the turn is closed, because that frees the client's hold for its next turn", async () => {
  const { steps } = await completeCancelledTurn({});
  expect(steps).toEqual(["reserve", "generate", "count client", "close CANCELLED 2026-01-31"]);
});

test("counts a reply that a person's takeover cancels for the workspace, and not for the client", async () => {
  const { steps } = await completeCancelledTurn({ isTakeover: true });
  expect(steps).toEqual(["reserve", "generate", "close CANCELLED 2026-01-31"]);
});

test("calls no model for a client that has reached its limit of unpaid replies since its request arrived", async () => {
  const { steps, endings } = await completeCancelledTurn({ isRefused: true });
  expect(steps).toEqual(["reserve", "close ERROR busy"]);
  expect(endings).toMatchObject([{ outcome: "error", errorCode: "busy" }]);
});
