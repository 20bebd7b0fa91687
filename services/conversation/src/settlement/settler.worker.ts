import { type RpcClient, RpcError } from "@parley/rpc";
import { SETTLE_OUTCOMES } from "@parley/rpc/outcomes";
import type { QuotaService, SettledTurn } from "@parley/rpc/quota";
import {
  backoffMs,
  currentTracer,
  type Database,
  failpoint,
  type Logger,
  openSpan,
  pause,
  type Span,
  withJitter,
} from "@parley/service-kit";
import { QueueReadStart, ReaderLease } from "../leases/index.ts";
import type { SettleLag } from "../metrics.ts";
import type { Settlement } from "../turns/index.ts";
import { deleteSettled, positionBefore, readOutbox, readOutboxMark } from "./outbox.store.ts";

export type Quota = Pick<RpcClient<typeof QuotaService>, "settle">;

const BATCH_TURNS = 500;
/** Limits the queue in memory. The poll of the outbox settles the turns that do not fit. */
const MAX_QUEUED = 10_000;
/**
 * The pause between two Settle calls. A call, the quota service's SQL statement and the deletion from the outbox cost about as much for
 * many turns as for one. The delay is harmless, because a turn's hold counts against the cap until the turn is settled.
 */
const BATCH_WINDOW_MS = 50;
/** With several shards, a call settles the turns of one shard only. A longer pause keeps the number of calls low. */
const SHARD_BATCH_WINDOW_MS = 300;
const SETTLE_TIMEOUT_MS = 5_000;
const POLL_MS = 1_000;
/** The poll leaves out younger rows, because they are probably still in the queue of the process that wrote them. */
const MIN_AGE_SECONDS = 2;
const MAX_BACKOFF_MS = 5_000;
/** If the replica that polls the outbox dies, another one takes over within about 7 s. */
const POLL_LEASE_SECONDS = 5;

export type SettlerOptions = {
  /** The database of one shard. */
  database: Database;
  quota: Quota;
  lag: SettleLag;
  log: Logger;
  /** Whether the shard is the only one. */
  isOnlyShard: boolean;
  /** Waits between two calls, at most until the signal is aborted. */
  waitForMoreTurns?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
};

/**
 * Settles the closed turns of one shard with the quota service, at least once each:
 * - turns that this process closed are settled immediately, or in a batch every 50 ms (with several shards 300 ms) under load;
 * - one replica at a time polls the outbox, settles all other turns and retries failed settlements.
 *
 * Settle is idempotent, so two replicas may settle the same turn.
 */
export class Settler {
  readonly #database: Database;
  readonly #quota: Quota;
  readonly #log: Logger;
  readonly #lag: SettlerOptions["lag"];
  readonly #waitForMoreTurns: (signal: AbortSignal) => Promise<unknown>;
  readonly #stop = new AbortController();
  readonly #lease: ReaderLease;
  /** Decides from where a poll reads the outbox. */
  readonly #readStart = new QueueReadStart();
  #queue: Settlement[] = [];
  /** The spans of the traced turns in the queue, by turn id. */
  readonly #spans = new Map<string, Span>();
  #settlingQueue: Promise<void> | undefined;
  #polling: Promise<void> | undefined;
  /** Consecutive failures of Settle calls and of polls. While there are any, pushed turns are left to the poll of the outbox. */
  #failures = 0;

  constructor({ database, quota, lag, log, isOnlyShard, waitForMoreTurns }: SettlerOptions) {
    this.#database = database;
    this.#quota = quota;
    this.#lease = new ReaderLease(database, "outbox", POLL_LEASE_SECONDS);
    this.#log = log;
    this.#waitForMoreTurns =
      waitForMoreTurns ?? ((signal) => pause(isOnlyShard ? BATCH_WINDOW_MS : SHARD_BATCH_WINDOW_MS, signal));
    this.#lag = lag;
  }

  start(): void {
    this.#polling ??= this.#poll();
  }

  /** Queues closed turns for the next batch. Their outbox rows must be committed. */
  push(closed: readonly Settlement[]): void {
    // If the quota service fails or the queue is full, the turns stay in the outbox for the poll.
    if (this.#failures > 0 || this.#queue.length + closed.length > MAX_QUEUED) return;
    this.#queue.push(...closed);
    for (const { turnId } of closed) {
      const span = openSpan("settle", { attributes: { "parley.turn_id": turnId } });
      if (span) this.#spans.set(turnId, span);
    }
    // A batch settles many turns, so its call is not part of one turn's trace.
    this.#settlingQueue ??= currentTracer()?.runOutsideTrace(() => this.#settleQueue()) ?? this.#settleQueue();
  }

  /** Settles the queue without a pause and stops the poll. Another process settles the rest of the outbox. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#settlingQueue;
    await this.#polling;
    await this.#lease.release().catch((error: unknown) => this.#log.warn({ error }, "outbox lease not released"));
  }

  async #settleQueue(): Promise<void> {
    // Wait one iteration of the event loop, so that turns that commit together are settled together.
    await new Promise(setImmediate);
    while (this.#queue.length > 0) {
      const batch = this.#queue.splice(0, BATCH_TURNS);
      const settled = await this.#settle(batch);
      this.#endSpans(batch, settled ?? []);
      if (settled === undefined) this.#endSpans(this.#queue.splice(0), []);
      // After a full batch, send the next one without a pause.
      if (batch.length < BATCH_TURNS) await this.#waitForMoreTurns(this.#stop.signal);
    }
    this.#settlingQueue = undefined;
  }

  /** Ends the spans of `turns`. A span ends with an error unless its turn is in `settled`. */
  #endSpans(turns: readonly Settlement[], settled: readonly { turnId: string }[]): void {
    const settledIds = new Set(settled.map(({ turnId }) => turnId));
    for (const { turnId } of turns) {
      this.#spans.get(turnId)?.end(settledIds.has(turnId) ? undefined : "not_settled");
      this.#spans.delete(turnId);
    }
  }

  /**
   * Polls the outbox until stop(). Does not use runPeriodically, which ends when the process starts to stop: turns that close during the drain
   * still need the poll.
   */
  async #poll(): Promise<void> {
    while (await this.#pause()) {
      try {
        if (await this.#lease.hold()) await this.#settleOutbox();
        else {
          // The lease's holder settles the turns that this replica could not settle. Meanwhile #readStart becomes out of date.
          this.#readStart.reset();
          this.#failures = 0;
        }
      } catch (error) {
        this.#failures += 1;
        this.#log.warn({ error }, "outbox read failed, retrying");
      }
    }
  }

  /** Reads the outbox to its end, so that a turn that cannot be settled does not delay the others. Stops if a call fails. */
  async #settleOutbox(): Promise<void> {
    /** If quota has acknowledged all older settlements, the next poll may start at this time. */
    const newMark = await readOutboxMark(this.#database);
    let after = positionBefore(this.#readStart.nextStart());
    /** The `createdAt` of the oldest settlement that quota did not acknowledge. */
    let oldestLeft: string | undefined;
    for (;;) {
      const entries = await readOutbox(this.#database, { after, minAgeSeconds: MIN_AGE_SECONDS, limit: BATCH_TURNS });
      const last = entries.at(-1);
      if (last !== undefined) {
        const settled = await this.#settle(entries);
        if (settled === undefined) return;
        const settledIds = new Set(settled.map(({ turnId }) => turnId));
        oldestLeft ??= entries.find(({ turnId }) => !settledIds.has(turnId))?.createdAt;
        after = last;
      } else this.#failures = 0;
      if (entries.length < BATCH_TURNS) break;
      if (this.#stop.signal.aborted || !(await this.#lease.hold())) return;
    }
    this.#readStart.advance(
      oldestLeft !== undefined && Date.parse(oldestLeft) <= Date.parse(newMark) ? oldestLeft : newMark,
    );
  }

  /** Waits until the next poll is due. Returns false if the settler was stopped. */
  #pause(): Promise<boolean> {
    return pause(withJitter(backoffMs(this.#failures + 1, POLL_MS, MAX_BACKOFF_MS)), this.#stop.signal);
  }

  /** Sends turns to quota, deletes the settled ones from the outbox and returns them. Returns undefined if the call or the deletion fails. */
  async #settle(turns: readonly Settlement[]): Promise<readonly SettledTurn[] | undefined> {
    try {
      const settlements = turns.map(({ workspaceId, turnId, outcome, month, unpaidDay }) => ({
        workspaceId,
        turnId,
        outcome: SETTLE_OUTCOMES[outcome],
        month: month ?? "",
        unpaidDay: unpaidDay ?? "",
      }));
      const { settled } = await this.#quota.settle({ settlements }, { timeoutMs: SETTLE_TIMEOUT_MS });
      failpoint("conversation.settled");
      this.#logDifferences(turns, settled);
      const lags = await deleteSettled(this.#database, settled);
      for (const seconds of lags) this.#lag.observe(seconds);
      this.#failures = 0;
      return settled;
    } catch (error) {
      // These turns stay in the outbox, and must not keep the later ones from being settled.
      if (error instanceof RpcError && error.code === "wrong_shard") {
        this.#log.error({ error, turns: turns.length }, "turns of another shard not settled");
        return [];
      }
      this.#failures += 1;
      this.#log.warn({ error, turns: turns.length, failures: this.#failures }, "settle failed, retrying");
      return undefined;
    }
  }

  /** Logs the turns for which quota stored another outcome. Quota keeps a turn's first outcome, which can differ after a database restore. */
  #logDifferences(turns: readonly Settlement[], settled: readonly SettledTurn[]): void {
    const outcomes = new Map(settled.map((each) => [each.turnId, each.outcome]));
    for (const { workspaceId, turnId, outcome } of turns) {
      const quotaOutcome = outcomes.get(turnId);
      if (quotaOutcome !== undefined && quotaOutcome !== SETTLE_OUTCOMES[outcome])
        this.#log.error({ workspace_id: workspaceId, turn_id: turnId, outcome }, "outcome differs from quota's");
    }
  }
}
