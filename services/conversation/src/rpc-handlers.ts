import type { ServiceImplementation } from "@parley/rpc";
import type { ConversationService } from "@parley/rpc/conversation";
import type { CallPool, Database, Shard } from "@parley/service-kit";
import { handleGetLogo } from "./bots/get-logo.rpc.ts";
import { handleResolveBot } from "./bots/resolve-bot.rpc.ts";
import type { Config } from "./config.ts";
import { type EraseVisitorDeps, handleEraseVisitor } from "./erasures/erase-visitor.rpc.ts";
import type { HandoffMetrics } from "./handoff/index.ts";
import { handleLeaveContactMessage } from "./handoff/leave-contact-message.rpc.ts";
import { handleReadHandoff } from "./handoff/read-handoff.rpc.ts";
import { handleRequestHandoff } from "./handoff/request-handoff.rpc.ts";
import { KeyShards } from "./keys/key-shards.service.ts";
import type { KeyUses } from "./keys/key-uses.worker.ts";
import { handleResolveKey } from "./keys/resolve-key.rpc.ts";
import { handleExportSessions } from "./session-exports/export-sessions.rpc.ts";
import { handleListSessions } from "./session-lists/list-sessions.rpc.ts";
import type { OwnerReadPool } from "./sessions/index.ts";
import { handleRateMessage } from "./sessions/rate-message.rpc.ts";
import { createSessionAdmin, type SessionAdminDeps, type SessionHandlers } from "./sessions/sessions.admin.ts";
import { handleRenewEdge } from "./sweeping/renew-edge.rpc.ts";
import { createCapReached } from "./turns/cap-reached.ts";
import { type CloseTurnDeps, handleCloseTurn } from "./turns/close-turn.rpc.ts";
import { handleFindTurn } from "./turns/find-turn.rpc.ts";
import { handleListRunningTurns } from "./turns/list-running-turns.rpc.ts";
import { handleOpenTurn, type OpenTurnDeps } from "./turns/open-turn.rpc.ts";
import { handleListVisitorMessages } from "./visitor-history/list-visitor-messages.rpc.ts";
import { handleListVisitorSessions } from "./visitor-history/list-visitor-sessions.rpc.ts";

export type RpcHandlersDeps = Omit<OpenTurnDeps, "database" | "counter" | "capReached"> & {
  database: Database;
  /** For calls that may be refused or cancelled. Calls that must complete even if the caller cancels use `database` and ignore the signal. */
  calls: CallPool;
  /** For calls about a workspace that is not known, and about many workspaces. */
  shards: readonly (Shard & { calls: CallPool })[];
  config: Pick<Config, "keyPrefix" | "leaseSeconds">;
  /** By the shard's number. */
  keyUses: readonly KeyUses[];
  rememberShard: (workspaceId: string, shard: number) => void;
  onLeaseFailure: (shard: number) => void;
  ownerReadPool: OwnerReadPool;
  closedTurnCounter: CloseTurnDeps["counter"];
  notifySettler: CloseTurnDeps["notifySettler"];
  handoffMetrics: HandoffMetrics;
};

export function createRpcHandlers(deps: RpcHandlersDeps): ServiceImplementation<typeof ConversationService> {
  const { database, calls, shards, botConfigs, patternThreads, semanticSearch, keyUses, ownerReadPool } = deps;
  const { closedTurnCounter, notifySettler, rememberShard, onLeaseFailure, handoffMetrics } = deps;
  const { keyPrefix, leaseSeconds } = deps.config;
  const keyShards = new KeyShards(keyPrefix);
  const handoffDeps = { database, botConfigs, metrics: handoffMetrics };
  const capReached = createCapReached(() => performance.now());
  const shardsFor = (signal: AbortSignal) =>
    shards.map(({ number, calls }) => ({ number, database: calls.databaseFor(signal) }));
  return {
    resolveKey: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleResolveKey({ shards: shardsFor(signal), keyShards, keyUses, onFound: rememberShard }, request);
    },
    getLogo: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleGetLogo(shardsFor(signal), request);
    },
    resolveBot: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleResolveBot(calls.databaseFor(signal), request);
    },
    renewEdge: (request) => handleRenewEdge(shards, leaseSeconds, request, onLeaseFailure),
    openTurn: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      ownerReadPool.pacer.recordTurn();
      return handleOpenTurn(
        {
          database: calls.databaseFor(signal),
          botConfigs,
          patternThreads,
          semanticSearch,
          capReached,
          counter: closedTurnCounter,
        },
        request,
      );
    },
    findTurn: (request, { signal }) => handleFindTurn({ database: calls.databaseFor(signal), botConfigs }, request),
    closeTurn: (request) => {
      ownerReadPool.pacer.recordTurn();
      return handleCloseTurn({ ...handoffDeps, counter: closedTurnCounter, notifySettler, capReached }, request);
    },
    rateMessage: (request, { signal }) =>
      handleRateMessage({ ...handoffDeps, database: calls.databaseFor(signal) }, request),
    listVisitorSessions: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleListVisitorSessions(calls.databaseFor(signal), request);
    },
    listVisitorMessages: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleListVisitorMessages(calls.databaseFor(signal), request);
    },
    requestHandoff: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleRequestHandoff({ ...handoffDeps, database: calls.databaseFor(signal) }, request);
    },
    readHandoff: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleReadHandoff(calls.databaseFor(signal), request);
    },
    leaveContactMessage: async (request, { signal }) => {
      calls.refuseIfOverloaded();
      return handleLeaveContactMessage({ ...handoffDeps, database: calls.databaseFor(signal) }, request);
    },
    listRunningTurns: (request, { signal }) => handleListRunningTurns(calls.databaseFor(signal), request),
  };
}

export function createSessionHandlers(deps: SessionAdminDeps & EraseVisitorDeps): SessionHandlers {
  const { ownerReadPool } = deps;
  return {
    ...createSessionAdmin(deps),
    listSessions: (request, { signal }) => handleListSessions(ownerReadPool, request, signal),
    exportSessions: (request, { signal }) => handleExportSessions(ownerReadPool, request, signal),
    eraseVisitor: (request) => handleEraseVisitor(deps, request),
  };
}
