import { create } from "@bufbuild/protobuf";
import { StoredTurnSchema } from "@parley/rpc/conversation";
import { expect, onTestFinished, test, vi } from "vitest";
import { RunningTurns } from "../turns/index.ts";
import { cancelRunningReplies, type TakeOverDeps } from "./take-over.service.ts";

test("a takeover cancels a reply at once, and waits at most 3 s for its end", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const [runningTurns, cancel, warn] = [new RunningTurns(), vi.fn(), vi.fn()];
  const session = { workspaceId: "w", sessionId: "s" };
  runningTurns.add({ workspaceId: "w", turnId: "t" }, cancel);
  const turns = [create(StoredTurnSchema, { turnId: "t", edgeId: "e" })];
  const deps = {
    conversation: { listRunningTurns: async () => ({ turns }) },
    turnDeps: { runningTurns, edgeId: "e" },
  } as unknown as TakeOverDeps;
  let hasEnded = false;
  void cancelRunningReplies(deps, session, { warn } as never).then(() => {
    hasEnded = true;
  });
  await vi.advanceTimersByTimeAsync(2_999);
  expect(cancel).toHaveBeenCalledOnce();
  expect(hasEnded).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(hasEnded).toBe(true);
  expect(warn).not.toHaveBeenCalled();
});
