import { TurnOutcome } from "@parley/rpc/conversation";
import { expect, test, vi } from "vitest";
import { TURN_REQUEST } from "../testing/turn-request.ts";
import { KeyedReply, RunningTurns } from "../turns/index.ts";
import { type StopDeps, stopTurn } from "./stop-turn.ts";
import { hashKey } from "./turn-key.ts";

test("waits for the request that opens the turn, also if it is another one because the first was refused", async () => {
  const { workspaceId, botId, sessionId, source, visitorId, visitorVerified } = TURN_REQUEST;
  const scope = { workspaceId, botId, sessionId, source, visitorId, visitorVerified, userId: "" };
  const key = { ...scope, keyHash: hashKey(source, "", "k") };
  const runningTurns = new RunningTurns();
  const addReply = () => {
    const reply = new KeyedReply({ turnId: "t", requestHash: new Uint8Array(32) }, 1_000, () => undefined);
    runningTurns.addReply(key, reply);
    return reply;
  };
  const turn = {
    turnId: "t",
    messageId: 7n,
    edgeId: "e",
    end: { outcome: TurnOutcome.DONE, content: "Hi", sources: [] },
  };
  const findTurn = vi.fn(async () => ({ turn }));
  const deps = { turnDeps: { runningTurns, edgeId: "e" }, conversation: { findTurn } } as unknown as StopDeps;
  const first = addReply();
  const stopped = stopTurn(deps, scope, { key: "k" });
  first.failOpening(new Error("refused"));
  runningTurns.removeReply(key);
  const [second] = await Promise.all([Promise.resolve().then(addReply)]);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(findTurn).not.toHaveBeenCalled();
  second.meta({ session_id: sessionId, message_id: 7 });
  expect(await stopped).toBe("done");
  runningTurns.removeReply(key);
  second.dispose();
});
