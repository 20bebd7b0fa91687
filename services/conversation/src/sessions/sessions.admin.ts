import type { ServiceImpl } from "@connectrpc/connect";
import type { SessionAdminService } from "@parley/rpc/conversation";
import { type Database, invalidArgument, isUuid, isWorkspaceId, notFound } from "@parley/service-kit";
import type { NotifySettler } from "../turns/index.ts";
import { eraseSession } from "./erase-session.store.ts";
import { handleExportSession } from "./export-session.rpc.ts";
import { reviewMessage } from "./messages.store.ts";
import type { OwnerReadPool } from "./owner-read-pool.ts";
import { requireReview } from "./ratings.ts";
import { sessionNotFound } from "./session-not-found.ts";
import { listSessions } from "./sessions.store.ts";
import { softDeleteSession } from "./soft-delete-session.rpc.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;

export type SessionAdminDeps = {
  database: Database;
  ownerReadPool: OwnerReadPool;
  notifySettler: NotifySettler;
  /** Stores a request to erase a visitor. Returns how many of the visitor's sessions are not erased yet. */
  eraseVisitor: (workspaceId: string, visitorId: string) => Promise<bigint>;
};

export function createSessionAdmin(deps: SessionAdminDeps): ServiceImpl<typeof SessionAdminService> {
  const { database, ownerReadPool, notifySettler, eraseVisitor } = deps;
  return {
    async listSessions({ workspaceId, limit }) {
      if (limit < 0 || limit > MAX_LIMIT) throw invalidArgument(`limit must be from 0 to ${MAX_LIMIT}`);
      if (!isWorkspaceId(workspaceId)) return { sessions: [] };
      const sessions = await listSessions(database, workspaceId, limit || DEFAULT_LIMIT);
      return {
        sessions: sessions.map((session) => ({
          ...session,
          startedAt: session.startedAt.toISOString(),
          lastActivityAt: session.lastActivityAt.toISOString(),
        })),
      };
    },
    getTranscript: (request, { signal }) => handleExportSession(ownerReadPool, request, signal),
    deleteSession: (request) => softDeleteSession(database, request),
    async eraseSession({ workspaceId, sessionId }) {
      const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
      const turnsClosedByErasure = couldExist ? await eraseSession(database, workspaceId, sessionId) : undefined;
      if (turnsClosedByErasure === undefined) throw sessionNotFound();
      notifySettler(turnsClosedByErasure);
      return {};
    },
    async reviewMessage({ workspaceId, sessionId, messageId, review }) {
      requireReview(review);
      const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
      const target = { workspaceId, sessionId, messageId: String(messageId), review };
      if (!couldExist || !(await reviewMessage(database, target)))
        throw notFound("message_not_found", "no such message");
      return {};
    },
    eraseVisitorSessions: async ({ workspaceId, visitorId }) => ({
      sessions: await eraseVisitor(workspaceId, visitorId),
    }),
  };
}
