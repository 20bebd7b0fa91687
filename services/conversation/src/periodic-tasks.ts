import type { RpcClient } from "@parley/rpc";
import type { LlmService } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import type { Logger, PeriodicTask, Shard } from "@parley/service-kit";
import type { Config } from "./config.ts";
import { type EmailSender, keepEmails } from "./emails/index.ts";
import type { VisitorEraser } from "./erasures/erasures.worker.ts";
import { createUsageEventsTask, forgetOldUsageEvents } from "./events/index.ts";
import { expireHandoffs, forgetAgents, type HandoffMetrics } from "./handoff/index.ts";
import type { KeyUses } from "./keys/key-uses.worker.ts";
import type { EmbeddingWorker } from "./knowledge/embeddings.worker.ts";
import { createCloseMonthsTask, createPruneTurnsTask, type PruneTurnsDeps } from "./months/index.ts";
import {
  createCallLogComparison,
  createCallLogPlan,
  createReconciliationTask,
  type ReconcileDeps,
} from "./reconciliation/index.ts";
import {
  A_DAY_OR_LONGER,
  eraseExpiredSessions,
  type RetentionDeps,
  type RetentionRange,
  SHORTER_THAN_A_DAY,
} from "./retention/retention.worker.ts";
import type { SiteCrawler } from "./sites/index.ts";
import { createBotReplyCountTask, createReplyCountTask } from "./statistics/statistics.worker.ts";
import type { Sweeper } from "./sweeping/sweeper.worker.ts";
import { createUsageAuditTask } from "./usage-audit/usage-audit.worker.ts";
import { keepWebhooks, type SecretBox, type WebhookDispatcher } from "./webhooks/index.ts";
import { type DeletedWorkspaces, READ_DELETED_INTERVAL_MS } from "./workspace-deletions/deleted-workspaces.service.ts";
import { eraseDeletedWorkspaces, eraseDocumentsOfDeletedBots } from "./workspace-deletions/erase-workspaces.worker.ts";

const AUDIT_INTERVAL_SECONDS = 5 * 60;
/** The task that closes months runs once in this many intervals of the reconciliation: every 5 minutes by default. */
const RECONCILIATIONS_PER_CLOSE = 5;
const PRUNE_INTERVAL_MS = 10 * 60_000;
const ERASE_EXPIRED_INTERVAL_MS = 60 * 60_000;
const ERASE_SHORT_RETENTION_INTERVAL_SECONDS = 60;
const ERASE_WORKSPACES_INTERVAL_MS = 60 * 60_000;
const ERASE_DOCUMENTS_INTERVAL_MS = 15_000;
const EMBED_INTERVAL_MS = 5_000;
const CRAWL_INTERVAL_SECONDS = 2;
const ERASE_VISITORS_INTERVAL_MS = 15_000;
const COUNT_REPLIES_INTERVAL_MS = 15_000;
const STORE_KEY_USES_INTERVAL_MS = 15_000;
/** An event waits for half of this time on average. */
const DISPATCH_INTERVAL_MS = 1_000;
const RECORD_USAGE_EVENTS_INTERVAL_MS = 5_000;
const FORGET_USAGE_EVENTS_INTERVAL_MS = 60 * 60_000;
const KEEP_WEBHOOKS_INTERVAL_MS = 10 * 60_000;
const SEND_EMAILS_INTERVAL_MS = 5_000;
const KEEP_EMAILS_INTERVAL_MS = 10 * 60_000;
const EXPIRE_HANDOFFS_INTERVAL_MS = 5_000;
const FORGET_AGENTS_INTERVAL_MS = 60 * 60_000;

export type PeriodicTasksDeps = Shard &
  Omit<ReconcileDeps, "quota"> & {
    quota: RpcClient<typeof QuotaService>;
    llm: RpcClient<typeof LlmService>;
    sweeper: Sweeper;
    visitorEraser: VisitorEraser;
    keyUses: KeyUses;
    deletedWorkspaces: DeletedWorkspaces;
    embeddings: EmbeddingWorker;
    siteCrawler: SiteCrawler;
    dispatcher: WebhookDispatcher;
    emailSender: EmailSender;
    secretBox: SecretBox;
    /** Notifies the settler of the turns that an erasure has closed, and counts them as cancelled. */
    reportCancelled: RetentionDeps["notifySettler"];
    retentionFailures: RetentionDeps["failures"];
    prunedRows: PruneTurnsDeps["prunedRows"];
    handoffMetrics: HandoffMetrics;
    log: Logger;
  };

/**
 * Returns the tasks that each replica runs periodically for one shard. A task that must run in one replica at a time claims a lease itself, in the
 * shard's database.
 */
export function createPeriodicTasks(
  deps: PeriodicTasksDeps,
  { leaseSeconds, reconciliation, usageRetentionMonths }: Config,
): PeriodicTask[] {
  const {
    number,
    database,
    quota,
    reportCancelled,
    log,
    sweeper,
    visitorEraser,
    keyUses,
    deletedWorkspaces,
    embeddings,
    siteCrawler,
    dispatcher,
    emailSender,
    secretBox,
  } = deps;
  const closeEverySeconds = reconciliation.everySeconds * RECONCILIATIONS_PER_CLOSE;
  const retentionDeps = { database, quota, notifySettler: reportCancelled, failures: deps.retentionFailures, log };
  const eraseExpired = (range: RetentionRange) => (signal: AbortSignal) =>
    eraseExpiredSessions(retentionDeps, range, signal);
  return [
    {
      name: "sweep",
      intervalMs: () => jitteredMs(leaseSeconds / 6),
      run: () => sweeper.sweepIfSafe(),
    },
    {
      name: "audit usage",
      intervalMs: () => jitteredMs(AUDIT_INTERVAL_SECONDS),
      run: createUsageAuditTask(deps, { everySeconds: AUDIT_INTERVAL_SECONDS, finalAfterDays: reconciliation.days }),
    },
    {
      name: "reconcile turns with usage",
      intervalMs: () => jitteredMs(reconciliation.everySeconds),
      run: createReconciliationTask(deps, reconciliation),
    },
    {
      name: "fill call log",
      intervalMs: () => jitteredMs(reconciliation.everySeconds),
      run: createReconciliationTask(deps, reconciliation, createCallLogPlan(createCallLogComparison(deps.llm))),
    },
    {
      name: "close months",
      intervalMs: () => jitteredMs(closeEverySeconds),
      run: createCloseMonthsTask(deps, { everySeconds: closeEverySeconds, finalAfterDays: reconciliation.days }),
    },
    {
      name: "prune turns",
      intervalMs: PRUNE_INTERVAL_MS,
      run: createPruneTurnsTask({
        database,
        retentionMonths: usageRetentionMonths,
        prunedRows: deps.prunedRows,
        log,
      }),
    },
    {
      name: "erase expired sessions",
      intervalMs: ERASE_EXPIRED_INTERVAL_MS,
      run: eraseExpired(A_DAY_OR_LONGER),
    },
    {
      name: "erase expired sessions of short retentions",
      intervalMs: () => jitteredMs(ERASE_SHORT_RETENTION_INTERVAL_SECONDS),
      run: eraseExpired(SHORTER_THAN_A_DAY),
    },
    { name: "erase visitors", intervalMs: ERASE_VISITORS_INTERVAL_MS, run: () => visitorEraser.run() },
    {
      name: "read deleted workspaces",
      intervalMs: READ_DELETED_INTERVAL_MS,
      run: () => deletedWorkspaces.read({ number, database }),
    },
    {
      name: "erase deleted workspaces",
      intervalMs: ERASE_WORKSPACES_INTERVAL_MS,
      run: (signal) => eraseDeletedWorkspaces({ database, notifySettler: reportCancelled, log }, signal),
    },
    {
      name: "erase documents of deleted bots",
      intervalMs: ERASE_DOCUMENTS_INTERVAL_MS,
      run: (signal) => eraseDocumentsOfDeletedBots(database, signal),
    },
    {
      name: "expire handoffs",
      intervalMs: EXPIRE_HANDOFFS_INTERVAL_MS,
      run: (signal) => expireHandoffs({ database, metrics: deps.handoffMetrics }, signal),
    },
    { name: "forget agents", intervalMs: FORGET_AGENTS_INTERVAL_MS, run: () => forgetAgents(database) },
    { name: "count replies by workspace", intervalMs: COUNT_REPLIES_INTERVAL_MS, run: createReplyCountTask(database) },
    { name: "count replies by bot", intervalMs: COUNT_REPLIES_INTERVAL_MS, run: createBotReplyCountTask(database) },
    { name: "store key uses", intervalMs: STORE_KEY_USES_INTERVAL_MS, run: () => keyUses.store() },
    { name: "record usage events", intervalMs: RECORD_USAGE_EVENTS_INTERVAL_MS, run: createUsageEventsTask(deps) },
    {
      name: "forget usage events",
      intervalMs: FORGET_USAGE_EVENTS_INTERVAL_MS,
      run: (signal) => forgetOldUsageEvents(database, signal),
    },
    { name: "dispatch webhooks", intervalMs: DISPATCH_INTERVAL_MS, run: () => dispatcher.run() },
    {
      name: "keep webhooks",
      intervalMs: KEEP_WEBHOOKS_INTERVAL_MS,
      run: (signal) => keepWebhooks({ database, secretBox, log }, signal),
    },
    { name: "send emails", intervalMs: SEND_EMAILS_INTERVAL_MS, run: () => emailSender.run() },
    { name: "keep emails", intervalMs: KEEP_EMAILS_INTERVAL_MS, run: (signal) => keepEmails(database, signal) },
    { name: "embed knowledge", intervalMs: EMBED_INTERVAL_MS, run: (signal) => embeddings.run(signal) },
    {
      name: "crawl sites",
      intervalMs: () => jitteredMs(CRAWL_INTERVAL_SECONDS),
      run: (signal) => siteCrawler.run(signal),
    },
  ];
}

/** Returns an interval in milliseconds that differs from `seconds` by up to 20 %, so that replicas do not run a task at the same time. */
function jitteredMs(seconds: number): number {
  return seconds * 1_000 * (0.8 + Math.random() * 0.4);
}
