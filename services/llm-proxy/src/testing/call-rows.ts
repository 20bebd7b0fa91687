import { randomUUID } from "node:crypto";
import type { CallRow } from "../call-log/calls.store.ts";

/** Returns a row whose latency of `number` ms identifies it. */
export function callOf(workspaceId: string, number: number): CallRow {
  return {
    workspaceId,
    callId: randomUUID(),
    turnId: randomUUID(),
    provider: "fake",
    model: "fake:default",
    asked: "",
    tokensIn: 1,
    tokensOut: 1,
    tokensCached: 0,
    tokensCacheWritten: 0,
    estimated: false,
    queueMs: 0,
    firstTokenMs: 0,
    latencyMs: number,
    attempts: 1,
    failovers: 0,
    outcome: "complete",
    reason: "",
    cost: null,
    rounds: 1,
    toolCalls: 0,
    toolsMs: 0,
    finishDetail: "",
    tries: [],
    month: null,
    createdAt: new Date(),
  };
}
