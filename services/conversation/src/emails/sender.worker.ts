import { type Database, type FairQueue, failpoint, type Logger } from "@parley/service-kit";
import { readContactMessage } from "../handoff/index.ts";
import { ReaderLease } from "../leases/index.ts";
import { retrySeconds } from "../webhooks/index.ts";
import { type ClaimedEmail, type EventData, MAX_ATTEMPTS, type SendResult } from "./email.ts";
import { claimEmail, listDueWorkspaces, queueSummaries, storeResult } from "./queue.store.ts";
import { renderEmail } from "./render-email.ts";
import type { OutgoingEmail } from "./send-email.client.ts";

/** If the replica that sends dies, another one takes over within about 13 s. */
const LEASE_SECONDS = 10;

export type EmailSenderDeps = {
  /** The database of one shard. */
  database: Database;
  /** Makes one attempt. If undefined, e-mail is off. */
  send: ((email: OutgoingEmail) => Promise<SendResult>) | undefined;
  /** The attempts of all shards. */
  attempts: FairQueue;
  metrics: { emails: { inc(labels: { result: string }, value?: number): void } };
  log: Logger;
};

/**
 * Sends the messages of one shard, one after the other for each workspace. One replica at a time works. A claim in the database protects a message
 * from being sent twice while an attempt runs. If the process or the database fails between the mail server's response and the stored result,
 * the message is sent again with the same Message-ID.
 */
export class EmailSender {
  readonly #deps: EmailSenderDeps;
  readonly #lease: ReaderLease;
  /** The loops that send the messages of a workspace, by its ID. */
  readonly #loops = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  /** Whether this replica works, as of the last run. */
  #isWorking: boolean = false;

  constructor(deps: EmailSenderDeps) {
    this.#deps = deps;
    this.#lease = new ReaderLease(deps.database, "emails", LEASE_SECONDS);
  }

  /** Queues the summaries that are due, and starts to send what is due. The caller runs this every second. */
  async run(): Promise<void> {
    const { database, send } = this.#deps;
    if (send === undefined || this.#stopping.signal.aborted) return;
    const isWorking = await this.#lease.hold();
    this.#isWorking = isWorking;
    if (!isWorking) return;
    await queueSummaries(database);
    for (const workspaceId of await listDueWorkspaces(database)) this.#startLoop(workspaceId);
  }

  /** Waits until the running attempts have ended, and lets another replica work. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#loops.values());
    await this.#lease.release().catch((error: unknown) => this.#deps.log.warn({ error }, "email lease not released"));
  }

  #startLoop(workspaceId: string): void {
    if (this.#loops.has(workspaceId)) return;
    const loop = this.#sendAll(workspaceId)
      .catch((error: unknown) => this.#deps.log.warn({ workspace_id: workspaceId, error }, "email sending interrupted"))
      .finally(() => this.#loops.delete(workspaceId));
    this.#loops.set(workspaceId, loop);
  }

  async #sendAll(workspaceId: string): Promise<void> {
    const { signal } = this.#stopping;
    try {
      while (!signal.aborted && this.#isWorking) {
        if (!(await this.#deps.attempts.run(workspaceId, signal, () => this.#sendNext(workspaceId)))) return;
      }
    } catch (error) {
      // Stopped while it waited for a place.
      if (error !== signal.reason) throw error;
    }
  }

  /** Returns false if nothing is due. */
  async #sendNext(workspaceId: string): Promise<boolean> {
    const { database, metrics } = this.#deps;
    const claimed = await claimEmail(database, workspaceId);
    if (claimed === undefined) return false;
    if ("held" in claimed) {
      metrics.emails.inc({ result: "held" }, claimed.held);
      return true;
    }
    const result = await this.#attempt(claimed);
    failpoint("conversation.email-sent");
    const waitSeconds = retrySeconds(claimed.attempts, {}, MAX_ATTEMPTS);
    const isLast = result.status === "retry" && waitSeconds === undefined;
    const stored: SendResult = isLast ? { ...result, status: "failed" } : result;
    await storeResult(database, claimed, stored, waitSeconds ?? 0);
    metrics.emails.inc({ result: stored.status === "retry" ? "retried" : stored.status });
    return true;
  }

  async #attempt(email: ClaimedEmail): Promise<SendResult> {
    const { address, language } = email;
    const { database, send } = this.#deps;
    if (address === null || language === null) return { status: "failed", error: "the recipient was removed" };
    if (send === undefined) return { status: "retry", error: "email is off" };
    const { recipientId, eventId, createdAt, workspaceId, type, data } = email;
    const contact = type === "handoff.contact" ? await readContact(database, workspaceId, data) : undefined;
    if (contact === null) return { status: "failed", error: "the contact message was erased or deleted" };
    return send({
      id: `${eventId}.${recipientId}`,
      to: address,
      replyTo: contact?.email,
      date: createdAt,
      ...renderEmail({ workspaceId, type, data: { ...data, ...contact }, language }),
    });
  }
}

/** Reads the contact message of an event. Returns null if it was erased or deleted. */
async function readContact(database: Database, workspaceId: string, { session_id, contact_id }: EventData) {
  const ids = { workspaceId, sessionId: String(session_id), contactId: String(contact_id) };
  return (await readContactMessage(database, ids)) ?? null;
}
