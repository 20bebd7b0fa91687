import type { RpcClient } from "@parley/rpc";
import { SETTLEMENTS } from "@parley/rpc/outcomes";
import type { QuotaService, SettledTurn } from "@parley/rpc/quota";
import {
  type Database,
  failpoint,
  type Logger,
  openSpan,
  pause,
  type Registry,
  type Span,
  tracer,
} from "@parley/service-kit";
import { outboxGauges, settleLag } from "../metrics.ts";
import type { Settlement } from "../turns/index.ts";
import { deleteSettled, readOutbox, type Waiting } from "./outbox.store.ts";

export type Quota = Pick<RpcClient<typeof QuotaService>, "settle">;

const BATCH = 500;
/** What the process remembers of its own commits; whatever is beyond, or lost with the process, is found in the outbox. */
const MAX_QUEUED = 10_000;
/**
 * So long after one call those that closed meanwhile go in the next. Nobody waits for a settlement, since a hold counts against the cap
 * until then, and a call with its two statements costs about as much for many turns as for one.
 */
const GATHER_MS = 50;
const SETTLE_TIMEOUT_MS = 5_000;
const POLL_MS = 1_000;
/** Younger rows are still on their way through the queue of the process that wrote them. */
const MIN_AGE_SECONDS = 2;
const MAX_BACKOFF_MS = 5_000;

/**
 * Tells the quota service how turns ended, at least once each: those that this process has just closed at once, or while turns close
 * steadily gathered in one call every 50 ms, and again and again whatever is left in the outbox. Settling a turn twice is harmless, so
 * replicas need not know of each other.
 */
export class Settler {
  readonly #database: Database;
  readonly #quota: Quota;
  readonly #log: Logger;
  readonly #lag: ReturnType<typeof settleLag>;
  readonly #gather: (signal: AbortSignal) => Promise<unknown>;
  readonly #stop = new AbortController();
  #queue: Settlement[] = [];
  /** Of the turns in the queue that are traced. */
  readonly #spans = new Map<string, Span>();
  #pushing: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  #failures = 0;

  /** @param gather waits after a call for what closes meanwhile, until the signal is aborted at the latest. */
  constructor(
    database: Database,
    quota: Quota,
    registry: Registry,
    log: Logger,
    gather = (signal: AbortSignal): Promise<unknown> => pause(GATHER_MS, signal),
  ) {
    this.#database = database;
    this.#quota = quota;
    this.#log = log;
    this.#gather = gather;
    this.#lag = settleLag(registry);
    outboxGauges(registry, database, log);
  }

  /** Begins to look after the outbox. */
  start(): void {
    this.#polling ??= this.#pollForEver();
  }

  /** Sends these soon, together with whatever else is closed meanwhile. They must be committed. */
  push(closed: readonly Settlement[]): void {
    // While the quota service is away they wait in the outbox, where they already are.
    if (this.#failures > 0 || this.#queue.length + closed.length > MAX_QUEUED) return;
    this.#queue.push(...closed);
    for (const { turnId } of closed) {
      const span = openSpan("settle", { attributes: { "parley.turn_id": turnId } });
      if (span) this.#spans.set(turnId, span);
    }
    // A batch is many turns' and belongs to the trace of none of them.
    this.#pushing ??= tracer()?.outside(() => this.#pushAll()) ?? this.#pushAll();
  }

  /** Sends what is queued, without gathering more, and stops; the rest is the next process's. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#pushing;
    await this.#polling;
  }

  async #pushAll(): Promise<void> {
    // One turn of the event loop: what commits together is sent together.
    await new Promise(setImmediate);
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH);
      const isSettled = await this.#settle(batch);
      this.#endSpans(isSettled ? batch : [...batch, ...this.#queue], isSettled);
      if (!isSettled) this.#queue = [];
      // A full batch has left others behind, which have been gathered long enough.
      if (batch.length < BATCH) await this.#gather(this.#stop.signal);
    }
    this.#pushing = undefined;
  }

  #endSpans(turns: readonly Settlement[], isSettled: boolean): void {
    for (const { turnId } of turns) {
      this.#spans.get(turnId)?.end(isSettled ? undefined : "not_settled");
      this.#spans.delete(turnId);
    }
  }

  async #pollForEver(): Promise<void> {
    let after: Waiting | undefined;
    // A backlog is sent batch after batch to its end and then from its beginning, so that no settlement can hold up the others.
    while ((after !== undefined && this.#failures === 0 && !this.#stop.signal.aborted) || (await this.#pause())) {
      try {
        const waiting = await readOutbox(this.#database, { after, minAgeSeconds: MIN_AGE_SECONDS, limit: BATCH });
        if (waiting.length > 0) await this.#settle(waiting);
        else this.#failures = 0;
        after = waiting.length === BATCH ? waiting.at(-1) : undefined;
      } catch (error) {
        this.#failures += 1;
        this.#log.warn({ error }, "cannot read the outbox");
      }
    }
  }

  /** Waits until it is time to look again; false when there is nothing more to wait for. */
  #pause(): Promise<boolean> {
    const backoffMs = Math.min(MAX_BACKOFF_MS, POLL_MS * 2 ** this.#failures);
    const jitter = 0.75 + Math.random() / 2;
    return pause(backoffMs * jitter, this.#stop.signal);
  }

  /** Whether the quota service answered; what it did not name is sent again from the outbox. */
  async #settle(turns: readonly Settlement[]): Promise<boolean> {
    try {
      const settlements = turns.map(({ workspaceId, turnId, outcome, month }) => ({
        workspaceId,
        turnId,
        outcome: SETTLEMENTS[outcome],
        month: month ?? "",
      }));
      const { settled } = await this.#quota.settle({ settlements }, { timeoutMs: SETTLE_TIMEOUT_MS });
      failpoint("conversation.settled");
      this.#reportDifferences(turns, settled);
      const lags = await deleteSettled(this.#database, settled);
      for (const seconds of lags) this.#lag.observe(seconds);
      this.#failures = 0;
      return true;
    } catch (error) {
      this.#failures += 1;
      this.#log.warn({ error, turns: turns.length, failures: this.#failures }, "cannot settle; will try again");
      return false;
    }
  }

  /** A turn has one outcome here, so a quota service that holds to another has lost or regained something, as after a restore. */
  #reportDifferences(turns: readonly Settlement[], settled: readonly SettledTurn[]): void {
    const standing = new Map(settled.map((each) => [each.turnId, each.outcome]));
    for (const { workspaceId, turnId, outcome } of turns) {
      const stands = standing.get(turnId);
      if (stands !== undefined && stands !== SETTLEMENTS[outcome])
        this.#log.error({ workspaceId, turnId, outcome }, "the quota service holds to another outcome of this turn");
    }
  }
}
