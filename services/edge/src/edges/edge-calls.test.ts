import { create } from "@bufbuild/protobuf";
import { HandoffSchema, HandoffState, TurnEndSchema } from "@parley/rpc/conversation";
import { AttachTurnRequestSchema, CancelTurnRequestSchema } from "@parley/rpc/edge";
import { expect, test } from "vitest";
import { KeyedReply, RunningTurns, readEnding } from "../turns/index.ts";
import { handleAttachTurn } from "./attach-turn.rpc.ts";
import { handleCancelTurn } from "./cancel-turn.rpc.ts";
import type { EdgeCallDeps } from "./require-turn.service.ts";

const WORKSPACE = "ws_1";
const TURN = { edgeId: "edge-1", workspaceId: WORKSPACE, turnId: "turn-1" };
const MAX_READERS = 8;

/** An edge that runs TURN. `closeCalls` lists the workspace of each CloseTurn call. */
function createEdge() {
  const runningTurns = new RunningTurns();
  const reply = new KeyedReply({ turnId: "t", requestHash: new Uint8Array() }, 1_000, () => undefined);
  runningTurns.add(TURN, () => reply.cancel(), reply);
  reply.token("secret");
  const closeCalls: string[] = [];
  const conversation = {
    closeTurn: async ({ workspaceId }: { workspaceId: string }) => {
      closeCalls.push(workspaceId);
      return {};
    },
  };
  const deps = { turnDeps: { edgeId: TURN.edgeId, runningTurns, conversation } } as unknown as EdgeCallDeps;
  return { deps, reply, closeCalls };
}

const attach = (deps: EdgeCallDeps, changes: Partial<typeof TURN> = {}) =>
  handleAttachTurn(deps, create(AttachTurnRequestSchema, { ...TURN, ...changes }), new AbortController().signal);

test("streams the reply of a running turn", async () => {
  const parts = attach(createEdge().deps);
  expect([await parts.next(), await parts.next()]).toMatchObject([{ value: {} }, { value: { text: "secret" } }]);
  await parts.return(undefined);
});

test("streams the end of a reply with the person who has taken the session over", async () => {
  const { deps, reply } = createEdge();
  const parts = attach(deps);
  await parts.next();
  const usage = { model: "m", tokensIn: 1, tokensOut: 1, latencyMs: 1 };
  const handoff = create(HandoffSchema, { state: HandoffState.ASSIGNED, agent: { id: "a1", name: "Anna" } });
  reply.end({ outcome: "cancelled", errorCode: "", handoff, ...usage });
  const received: unknown[] = [];
  for await (const { end } of parts) if (end) received.push(readEnding(create(TurnEndSchema, end)));
  expect(received).toMatchObject([{ outcome: "cancelled", handoff: { agent: { name: "Anna" } } }]);
});

test("neither reads nor cancels a turn that belongs to another workspace", async () => {
  const { deps, reply, closeCalls } = createEdge();
  const workspaceId = "ws_2";
  await expect(attach(deps, { workspaceId }).next()).rejects.toMatchObject({ code: "turn_not_found" });
  const cancel = handleCancelTurn(deps, create(CancelTurnRequestSchema, { ...TURN, workspaceId }));
  await expect(cancel).rejects.toMatchObject({ code: "turn_not_found" });
  expect(reply.cancelSignal.aborted).toBe(false);
  // The edge finds no running turn in the caller's workspace, so it calls CloseTurn with that workspace. That call cannot close TURN.
  expect(closeCalls).toEqual([workspaceId, workspaceId]);
});

test("cancels a turn for its visitor or for a person who takes the session over", async () => {
  for (const isTakeover of [false, true]) {
    const { deps, reply } = createEdge();
    const { runningTurns } = deps.turnDeps;
    const running = runningTurns.get(TURN.turnId);
    reply.cancelSignal.addEventListener("abort", () => runningTurns.remove(TURN.turnId));
    const cancel = handleCancelTurn(deps, create(CancelTurnRequestSchema, { ...TURN, isTakeover }));
    await expect(cancel).rejects.toMatchObject({ code: "unavailable" });
    expect(running?.isTakenOver).toBe(isTakeover);
  }
});

test("attaches at most 8 readers to a turn, even if 1,000 attach at the same time", async () => {
  const { deps } = createEdge();
  const parts = Array.from({ length: 1_000 }, () => attach(deps));
  const results = await Promise.allSettled(parts.map((each) => each.next()));
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(MAX_READERS);
  await Promise.all(parts.map((each) => each.return(undefined)));
});
