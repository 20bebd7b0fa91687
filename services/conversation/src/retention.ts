import { setTimeout as sleep } from "node:timers/promises";
import type { RpcClient } from "@parley/rpc";
import type { QuotaService } from "@parley/rpc/quota";
import type { Database, Logger } from "@parley/service-kit";
import type { Settlement } from "./store/close-turn.ts";
import { eraseSession } from "./store/erase-session.ts";
import { listExpired, listWorkspaceIds } from "./store/retention.ts";

const EVERY_MS = 60 * 60_000;
/** Sessions erased before others may have the database again. */
const BATCH = 50;
const PAUSE_MS = 100;
const QUOTA_TIMEOUT_MS = 5_000;

export type RetentionDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  onClosed: (closed: readonly Settlement[]) => void;
  log: Logger;
};

/** Erases, once an hour and a few at a time, the conversations that are older than their workspace keeps them. Replicas may do it at once. */
export class Retention {
  readonly #deps: RetentionDeps;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(deps: RetentionDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.tick();
      } catch (error) {
        this.#deps.log.warn({ error }, "cannot erase expired conversations");
      }
      await this.#pause(EVERY_MS);
    }
  }

  /** Looks at every workspace once. Answers with the number of sessions erased. */
  async tick(): Promise<number> {
    const { database, log } = this.#deps;
    let erased = 0;
    for (const workspaceId of await listWorkspaceIds(database)) erased += await this.#look(workspaceId);
    if (erased > 0) log.info({ sessions: erased }, "erased expired conversations");
    return erased;
  }

  /** One workspace; what goes wrong with it is no reason to pass the others over. */
  async #look(workspaceId: string): Promise<number> {
    const { quota, log } = this.#deps;
    try {
      const { workspace } = await quota.getWorkspace(
        { workspaceId },
        { timeoutMs: QUOTA_TIMEOUT_MS, waitForReady: true },
      );
      const days = workspace?.retentionDays ?? 0;
      return days > 0 ? await this.#erase(workspaceId, days) : 0;
    } catch (error) {
      log.warn({ workspace_id: workspaceId, error }, "cannot erase expired conversations");
      return 0;
    }
  }

  async #erase(workspaceId: string, days: number): Promise<number> {
    const { database, onClosed } = this.#deps;
    let erased = 0;
    while (!this.#stop.signal.aborted) {
      const expired = await listExpired(database, workspaceId, days, BATCH);
      for (const sessionId of expired) onClosed((await eraseSession(database, workspaceId, sessionId)) ?? []);
      erased += expired.length;
      if (expired.length < BATCH) break;
      await this.#pause(PAUSE_MS);
    }
    return erased;
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}
