import { setTimeout as sleep } from "node:timers/promises";
import { type Database, Gauge, type Logger, type Registry } from "@parley/service-kit";
import { type AuditedQuota, audit } from "./audit.ts";

const EVERY_MS = 5 * 60_000;

/** Audits the current month every five minutes and tells the result as a metric; what differs is logged turn by turn. */
export class BooksWatch {
  readonly #stop = new AbortController();
  readonly #look: () => Promise<void>;
  #running: Promise<void> | undefined;

  constructor(database: Database, quota: AuditedQuota, registry: Registry, log: Logger) {
    const outOfBalance = new Gauge({
      name: "parley_books_out_of_balance",
      help: "Workspaces whose transcripts and books of this month do not agree; NaN while they could not be compared.",
      registers: [registry],
    });
    this.#look = async () => {
      try {
        const { month, workspaces } = await audit(database, quota, "", "");
        const differing = workspaces.filter(({ differences }) => differences.length > 0);
        for (const { id, differences } of differing)
          log.error({ workspace_id: id, month, differences: differences.slice(0, 10) }, "the books are out of balance");
        outOfBalance.set(differing.length);
      } catch (error) {
        outOfBalance.set(Number.NaN);
        log.warn({ error }, "cannot audit the books");
      }
    };
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
      await this.#look();
      // Replicas started together need not ask together.
      await sleep(EVERY_MS * (0.8 + Math.random() * 0.4), undefined, { signal: this.#stop.signal }).catch(
        () => undefined,
      );
    }
  }
}
