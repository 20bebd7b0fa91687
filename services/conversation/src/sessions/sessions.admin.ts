import type { ServiceImpl } from "@connectrpc/connect";
import type { SessionAdminService } from "@parley/rpc/conversation";
import { type Database, invalid, isUuid, isWorkspaceId } from "@parley/service-kit";
import type { Settlement } from "../turns/index.ts";
import { eraseSession } from "./erase-session.store.ts";
import { handleExportSession } from "./export-session.rpc.ts";
import { sessionNotFound } from "./session-not-found.ts";
import { deleteSession, listSessions } from "./sessions.store.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 1_000;

export type SessionAdminDeps = {
  database: Database;
  exportDatabase: Database;
  /** Called with the turns that an erasure closed. */
  onClosed: (closed: readonly Settlement[]) => void;
};

/** Implements the admin service of sessions. */
export function sessionAdmin(deps: SessionAdminDeps): ServiceImpl<typeof SessionAdminService> {
  const { database, exportDatabase, onClosed } = deps;
  return {
    async listSessions({ workspaceId, limit }) {
      if (limit < 0 || limit > MAX_LIMIT) throw invalid(`limit must be from 0 to ${MAX_LIMIT}`);
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
    getTranscript: (request, { signal }) => handleExportSession(exportDatabase, request, signal),
    async deleteSession({ workspaceId, sessionId }) {
      const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
      if (!couldExist || !(await deleteSession(database, workspaceId, sessionId))) throw sessionNotFound();
      return {};
    },
    async eraseSession({ workspaceId, sessionId }) {
      const couldExist = isWorkspaceId(workspaceId) && isUuid(sessionId);
      const closed = couldExist ? await eraseSession(database, workspaceId, sessionId) : undefined;
      if (closed === undefined) throw sessionNotFound();
      onClosed(closed);
      return {};
    },
  };
}
