import { type Database, type Logger, pause } from "@parley/service-kit";
import { eraseSession, type SessionPosition } from "../sessions/index.ts";
import type { NotifySettler } from "../turns/index.ts";
import { deleteErasure, type Erasure, listErasures, listSessionsToErase } from "./erasures.store.ts";

/** Limit of the erasure requests that one query reads. */
const REQUESTS_PER_PAGE = 1_000;
/** Limit of the sessions that a round erases for each request. */
const BATCH_SESSIONS = 50;
const PAUSE_MS = 100;

export type VisitorEraserDeps = {
  database: Database;
  notifySettler: NotifySettler;
  /** Aborted when the process starts to stop. A run then ends early, and a later run continues. */
  closingSignal: AbortSignal;
  log: Pick<Logger, "info" | "warn">;
};

/** For each request, the last session that could not be erased in this run. */
type FailedSessions = Map<string, SessionPosition>;

/**
 * Erases the sessions of the visitors whose erasure was requested. Deletes a request when no session is left. If a session cannot be erased,
 * the next run tries again. Several replicas may erase concurrently.
 */
export class VisitorEraser {
  readonly #deps: VisitorEraserDeps;
  #running: Promise<void> | undefined;

  constructor(deps: VisitorEraserDeps) {
    this.#deps = deps;
  }

  /**
   * Starts a run. If another run is active, starts after it, because the active run may have listed the requests before the caller stored a new
   * request.
   */
  start(): void {
    void Promise.resolve(this.#running)
      .catch(() => undefined)
      .then(() => this.run())
      .catch((error: unknown) => this.#deps.log.warn({ error }, "visitor erasure failed, retrying"));
  }

  /** Tries every session once, unless the process stops. A call during a run waits for that run. */
  run(): Promise<void> {
    this.#running ??= this.#runRounds().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #runRounds(): Promise<void> {
    const { closingSignal: signal } = this.#deps;
    const failed: FailedSessions = new Map();
    while (!signal.aborted && (await this.#runRound(failed))) await pause(PAUSE_MS, signal);
  }

  /** Erases one batch for each request, so that a large request does not delay the others. Returns whether sessions may be left. */
  async #runRound(failed: FailedSessions): Promise<boolean> {
    const { database, closingSignal } = this.#deps;
    let hasMore = false;
    for (let after: Erasure | undefined; ; ) {
      const page = await listErasures(database, { after, limit: REQUESTS_PER_PAGE });
      for (const erasure of page)
        if (!closingSignal.aborted && (await this.#eraseBatch(erasure, failed))) hasMore = true;
      if (closingSignal.aborted || page.length < REQUESTS_PER_PAGE) return hasMore;
      after = page.at(-1);
    }
  }

  /**
   * Erases a batch of a request's sessions, starting after the last one that failed in this run. Deletes the request if no session is left, none
   * failed, and OpenTurn can no longer commit a session that started before the request. Returns whether sessions may be left.
   */
  async #eraseBatch(erasure: Erasure, failed: FailedSessions): Promise<boolean> {
    const { database, closingSignal, log } = this.#deps;
    const { workspaceId, requestId } = erasure;
    const key = `${workspaceId} ${requestId}`;
    const after = failed.get(key);
    const sessions = await listSessionsToErase(database, erasure, { after, limit: BATCH_SESSIONS });
    for (const session of sessions)
      if (!closingSignal.aborted && !(await this.#eraseOne(erasure, session.sessionId))) failed.set(key, session);
    if (sessions.length === 0 && after === undefined && erasure.areSessionsCommitted) {
      await deleteErasure(database, erasure);
      log.info({ workspace_id: workspaceId, request_id: requestId }, "visitor erased");
    }
    return sessions.length === BATCH_SESSIONS;
  }

  /** Returns whether the session was erased. Does not throw, so that the run continues with the other sessions. */
  async #eraseOne({ workspaceId, requestId }: Erasure, sessionId: string): Promise<boolean> {
    const { database, notifySettler, log } = this.#deps;
    try {
      const closedTurns = await eraseSession(database, workspaceId, sessionId);
      notifySettler(closedTurns ?? []);
      return true;
    } catch (error) {
      log.warn(
        { workspace_id: workspaceId, request_id: requestId, session_id: sessionId, error },
        "session erasure failed, retrying",
      );
      return false;
    }
  }
}
