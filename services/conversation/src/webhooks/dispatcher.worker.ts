import { type AuditLog, type Database, FairQueue, failpoint, type Logger } from "@parley/service-kit";
import { recordWebhookDisabled } from "../events/index.ts";
import { QueueReadStart, ReaderLease } from "../leases/index.ts";
import { recordAttempt } from "./attempts.store.ts";
import { readEventContent } from "./event-content.store.ts";
import { claimDelivery, copyEvents, dropOldest, listDue, readEventMark } from "./queue.store.ts";
import type { SecretBox } from "./secret-box.ts";
import type { WebhookRequest } from "./send-webhook.client.ts";
import { type Attempt, type ClaimedDelivery, type EndpointRef, MAX_PENDING, webhookBody } from "./webhook.ts";

const BATCH_EVENTS = 500;
/** If the replica that dispatches dies, another one takes over within about 13 s. */
const LEASE_SECONDS = 10;
/** How many attempts of one endpoint run at once. */
const ATTEMPTS_PER_ENDPOINT = 4;
/** How many attempts a replica runs at once, over all shards. */
const MAX_ATTEMPTS = 64;

export type WebhookMetrics = {
  /** Counts the results of attempts, and the events that were dropped. */
  deliveries: { inc(labels: { result: string }, value?: number): void };
};

export type DispatcherDeps = {
  /** The database of one shard. */
  database: Database;
  secretBox: SecretBox;
  /** Makes one attempt. */
  send: (request: WebhookRequest) => Promise<Attempt>;
  /** The attempts of all shards. */
  attempts: FairQueue;
  auditLog: Pick<AuditLog, "recordIn">;
  metrics: WebhookMetrics;
  log: Logger;
  maxPending?: number;
};

/**
 * The places for the attempts of a replica. A place goes to the workspace whose last attempt began the longest time ago, and a workspace gets another
 * one only while it has fewer than are free. So slow receivers of one workspace do not delay those of another.
 */
export function createAttemptQueue(): FairQueue {
  return new FairQueue({ maxActive: MAX_ATTEMPTS, maxActivePerFreePlace: 1 });
}

/**
 * Delivers the events of one shard to the workspaces' endpoints, at least once each. One replica at a time works: it copies the events to the
 * endpoints' queues, and attempts the deliveries that are due. A claim in the database protects an attempt from being made twice while it runs, also
 * if another replica takes over.
 */
export class WebhookDispatcher {
  readonly #deps: DispatcherDeps;
  readonly #lease: ReaderLease;
  readonly #readStart = new QueueReadStart();
  /** The loops that attempt the deliveries of an endpoint, by the endpoint. */
  readonly #running = new Map<string, number>();
  readonly #loops = new Set<Promise<void>>();
  /** At least the events that wait, by endpoint. See #limitQueue. */
  readonly #pending = new Map<string, number>();
  readonly #stopping = new AbortController();
  /** Whether this replica works, as of the last run. */
  #isWorking: boolean = false;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#lease = new ReaderLease(deps.database, "webhooks", LEASE_SECONDS);
  }

  /** Copies the events that have occurred, and starts to attempt what is due. The caller runs this once a second. */
  async run(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const isWorking = await this.#lease.hold();
    this.#isWorking = isWorking;
    if (!isWorking) {
      this.#readStart.reset();
      this.#pending.clear();
      return;
    }
    await this.#copyEvents();
    if (!this.#deps.secretBox.isAvailable) return;
    for (const { events, ...endpoint } of await listDue(this.#deps.database, ATTEMPTS_PER_ENDPOINT))
      this.#startLoops(endpoint, events);
  }

  /** Waits until the running attempts have ended, and lets another replica work. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loops);
    await this.#lease.release().catch((error: unknown) => this.#deps.log.warn({ error }, "webhook lease not released"));
  }

  async #copyEvents(): Promise<void> {
    const { database } = this.#deps;
    const mark = await readEventMark(database);
    const since = this.#readStart.nextStart();
    for (;;) {
      const { taken, queued } = await copyEvents(database, BATCH_EVENTS, since);
      failpoint("conversation.events-copied");
      for (const { events, ...endpoint } of queued) await this.#limitQueue(endpoint, events);
      if (taken < BATCH_EVENTS) break;
      if (this.#stopping.signal.aborted || !(await this.#lease.hold())) return;
    }
    this.#readStart.advance(mark);
  }

  /**
   * Drops an endpoint's oldest events if too many wait. Counts those that were queued since the last count, so that a queue is counted once, and
   * again each time it may be full.
   */
  async #limitQueue(endpoint: EndpointRef, queued: number): Promise<void> {
    const { database, metrics, log, maxPending = MAX_PENDING } = this.#deps;
    const key = keyOf(endpoint);
    const known = this.#pending.get(key);
    if (known !== undefined && known + queued <= maxPending) {
      this.#pending.set(key, known + queued);
      return;
    }
    const { dropped, pending } = await dropOldest(database, endpoint, maxPending);
    // Without a number, the next call counts again.
    if (pending === undefined) this.#pending.delete(key);
    else this.#pending.set(key, pending);
    if (dropped === 0) return;
    metrics.deliveries.inc({ result: "dropped" }, dropped);
    log.warn(
      { workspace_id: endpoint.workspaceId, endpoint_id: endpoint.endpointId, dropped },
      "webhook queue full, oldest events dropped",
    );
  }

  #startLoops(endpoint: EndpointRef, due: number): void {
    const key = keyOf(endpoint);
    const running = this.#running.get(key) ?? 0;
    for (let count = running; count < Math.min(ATTEMPTS_PER_ENDPOINT, due); count++) {
      this.#running.set(key, count + 1);
      const loop = this.#attemptAll(endpoint)
        .catch((error: unknown) => {
          const { workspaceId, endpointId } = endpoint;
          this.#deps.log.warn(
            { workspace_id: workspaceId, endpoint_id: endpointId, error },
            "webhook delivery interrupted",
          );
        })
        .finally(() => {
          const left = (this.#running.get(key) ?? 1) - 1;
          if (left > 0) this.#running.set(key, left);
          else this.#running.delete(key);
          this.#loops.delete(loop);
        });
      this.#loops.add(loop);
    }
  }

  /** Attempts one delivery of the endpoint after the other until none is due. */
  async #attemptAll(endpoint: EndpointRef): Promise<void> {
    const { attempts } = this.#deps;
    const { signal } = this.#stopping;
    try {
      while (!signal.aborted && this.#isWorking) {
        if (!(await attempts.run(endpoint.workspaceId, signal, () => this.#attemptNext(endpoint)))) return;
      }
    } catch (error) {
      // Stopped while it waited for a place.
      if (error !== signal.reason) throw error;
    }
  }

  /** Returns false if no delivery is due. If the process or the database fails before the result is stored, the attempt is made again. */
  async #attemptNext(endpoint: EndpointRef): Promise<boolean> {
    const { database, metrics, log } = this.#deps;
    const delivery = await claimDelivery(database, endpoint);
    if (delivery === undefined) return false;
    const attempt = await this.#attempt(delivery);
    failpoint("conversation.webhook-sent");
    const { workspaceId, endpointId: id, url } = delivery;
    const { result, disabled } = await recordAttempt(database, delivery, attempt, async (connection, reason) => {
      await recordWebhookDisabled(connection, { workspaceId, id, host: new URL(url).host, reason });
      await this.#deps.auditLog.recordIn(connection, {
        ...{ workspaceId, member: undefined, changedFields: [] },
        method: "Webhooks/DisableEndpoint",
        target: { id, reason },
      });
    });
    metrics.deliveries.inc({ result });
    if (disabled !== undefined)
      log.warn({ workspace_id: workspaceId, endpoint_id: id, reason: disabled }, "webhook endpoint disabled");
    return true;
  }

  async #attempt(delivery: ClaimedDelivery): Promise<Attempt> {
    const { database, secretBox, send } = this.#deps;
    const secrets = delivery.secrets.map((secret) => secretBox.decrypt(secret, delivery));
    const content = delivery.includeContent ? await readEventContent(database, delivery) : {};
    return send({ url: delivery.url, id: delivery.eventId, body: webhookBody(delivery, content), secrets });
  }
}

function keyOf({ workspaceId, endpointId }: EndpointRef): string {
  return `${workspaceId}/${endpointId}`;
}
