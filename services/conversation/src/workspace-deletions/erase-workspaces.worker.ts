import { type Database, type Logger, pause } from "@parley/service-kit";
import { eraseSession } from "../sessions/index.ts";
import type { NotifySettler } from "../turns/index.ts";
import { beginErasures, finishErasure, listSessionIds } from "./deletions.store.ts";
import {
  deleteBots,
  deleteDocument,
  deleteDocumentOfDeletedBot,
  deleteSitesOfDeletedBots,
} from "./workspace-content.store.ts";

/** The number of sessions erased between two pauses. Each session has its own transaction. */
const BATCH_SESSIONS = 50;
const PAUSE_MS = 100;

export type EraseWorkspacesDeps = {
  database: Database;
  /** Called with the turns that the erasure of a session closed. */
  notifySettler: NotifySettler;
  log: Pick<Logger, "info" | "warn">;
};

/**
 * Erases the deleted workspaces whose grace period is over: sessions, documents, sites, bots, keys, patterns, tools and evaluations. The rows of turns
 * stay without content, so that usage can still be reconciled. If a workspace cannot be erased completely, the next run continues. Replicas
 * may call this function concurrently.
 */
export async function eraseDeletedWorkspaces(deps: EraseWorkspacesDeps, signal: AbortSignal): Promise<void> {
  for (const workspaceId of await beginErasures(deps.database)) {
    if (signal.aborted) return;
    try {
      await eraseWorkspace(deps, workspaceId, signal);
    } catch (error) {
      deps.log.warn({ workspace_id: workspaceId, error }, "workspace erasure failed, retrying");
    }
  }
}

/** Deletes the sites and documents of deleted bots: in the background, because a large document takes longer than a call may. */
export async function eraseDocumentsOfDeletedBots(database: Database, signal: AbortSignal): Promise<void> {
  await deleteSitesOfDeletedBots(database);
  while (!signal.aborted && (await deleteDocumentOfDeletedBot(database)));
}

async function eraseWorkspace(deps: EraseWorkspacesDeps, workspaceId: string, signal: AbortSignal): Promise<void> {
  const { database, log } = deps;
  const areSessionsErased = await eraseSessions(deps, workspaceId, signal);
  while (!signal.aborted && (await deleteDocument(database, workspaceId)));
  if (signal.aborted) return;
  await deleteBots(database, workspaceId);
  if (!areSessionsErased || !(await finishErasure(database, workspaceId))) return;
  log.info({ workspace_id: workspaceId }, "workspace erased");
}

/** Returns whether every session is erased. */
async function eraseSessions(
  { database, notifySettler, log }: EraseWorkspacesDeps,
  workspaceId: string,
  signal: AbortSignal,
): Promise<boolean> {
  let failures = 0;
  for (let after: string | undefined; ; ) {
    const sessions = await listSessionIds(database, workspaceId, { after, limit: BATCH_SESSIONS });
    for (const sessionId of sessions) {
      try {
        notifySettler((await eraseSession(database, workspaceId, sessionId)) ?? []);
      } catch (error) {
        failures++;
        log.warn({ workspace_id: workspaceId, session_id: sessionId, error }, "session erasure failed, retrying");
      }
    }
    after = sessions.at(-1);
    if (after === undefined) return failures === 0;
    if (!(await pause(PAUSE_MS, signal))) return false;
  }
}
