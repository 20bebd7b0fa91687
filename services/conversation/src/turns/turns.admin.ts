import type { ServiceImpl } from "@connectrpc/connect";
import type { TurnAdminService } from "@parley/rpc/conversation";
import { type Database, isWorkspaceId, notFound } from "@parley/service-kit";
import { findTurnRecord } from "./turn-record.store.ts";

/** Implements the admin service that reads the records of single turns. */
export function turnAdmin(database: Database): ServiceImpl<typeof TurnAdminService> {
  return {
    async getTurn({ workspaceId, messageId }) {
      const couldExist = isWorkspaceId(workspaceId) && messageId > 0n && messageId <= BigInt(Number.MAX_SAFE_INTEGER);
      const found = couldExist ? await findTurnRecord(database, workspaceId, Number(messageId)) : undefined;
      if (found === undefined) throw notFound("message_not_found", "no such message");
      return {
        turn: {
          ...found,
          messageId: BigInt(found.messageId),
          phases: found.phases.map(({ name, microseconds }) => ({ name, microseconds: BigInt(microseconds) })),
          openedAt: found.openedAt.toISOString(),
          closedAt: found.closedAt?.toISOString() ?? "",
          openMicroseconds: BigInt(found.openMicroseconds),
          knowledge: found.knowledge.map((passage) => ({ ...passage, chunkId: BigInt(passage.chunkId) })),
          tools: found.tools.map(({ name = "", status = "", latency_ms: latencyMs = 0 }) => ({
            name,
            status,
            latencyMs: Math.round(latencyMs),
          })),
        },
      };
    },
  };
}
