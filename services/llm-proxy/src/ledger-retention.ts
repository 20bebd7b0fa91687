import { setTimeout as sleep } from "node:timers/promises";
import type { Database, Logger } from "@parley/service-kit";
import { deleteExpiredCalls, listExpiredWorkspaces } from "./store/retention.ts";

const EVERY_MS = 60 * 60_000;
/** Rows deleted in one statement: few enough that it takes milliseconds. */
const BATCH = 1_000;
/** Between two statements, so that the database is left to others most of the time. */
const PAUSE_MS = 50;

export type LedgerRetentionOptions = {
  database: Database;
  /** Days that the ledger keeps a call; 0 keeps it for ever. */
  days: number;
  log: Logger;
  batch?: number;
};

/** Deletes, once an hour and a few at a time, the calls that are older than the ledger keeps them. Replicas may do it at once. */
export class LedgerRetention {
  readonly #options: LedgerRetentionOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: LedgerRetentionOptions) {
    this.#options = options;
  }

  start(): void {
    if (this.#options.days > 0) this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Looks at every workspace once. Answers with the number of calls deleted. */
  async tick(): Promise<number> {
    const { database, days, log, batch = BATCH } = this.#options;
    let deleted = 0;
    for (const workspaceId of await listExpiredWorkspaces(database, days)) {
      for (let count = batch; count === batch && !this.#stop.signal.aborted; ) {
        count = await deleteExpiredCalls(database, workspaceId, days, batch);
        deleted += count;
        await this.#pause(PAUSE_MS);
      }
    }
    if (deleted > 0) log.info({ calls: deleted }, "deleted calls that the ledger keeps no longer");
    return deleted;
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      try {
        await this.tick();
      } catch (error) {
        this.#options.log.warn({ error }, "cannot delete old calls of the ledger");
      }
      await this.#pause(EVERY_MS);
    }
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#stop.signal }).catch(() => undefined);
  }
}
