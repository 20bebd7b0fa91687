import type { RpcClient } from "@parley/rpc";
import type { LlmService } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import { CallPool, type Database, type Logger, type Shard } from "@parley/service-kit";
import type { DocumentFetcher, DocumentQueue } from "./documents/index.ts";
import type { EmailSender } from "./emails/index.ts";
import { VisitorEraser } from "./erasures/erasures.worker.ts";
import { KeyUses } from "./keys/key-uses.worker.ts";
import { EmbeddingWorker } from "./knowledge/embeddings.worker.ts";
import { createLimitsReader } from "./knowledge/index.ts";
import { llmOfShard, quotaOfShard } from "./shard-peers.ts";
import { type RunResult, SiteCrawler } from "./sites/index.ts";
import { Sweeper } from "./sweeping/sweeper.worker.ts";
import type { NotifySettler } from "./turns/index.ts";
import type { WebhookDispatcher } from "./webhooks/index.ts";

/** The share of a pool's connections that periodic tasks may use together. The rest remains for turns. */
const TASK_CONNECTION_SHARE = 0.5;

type ShardWorkersDeps = {
  createDispatcher: (database: Database) => WebhookDispatcher;
  createEmailSender: (database: Database) => EmailSender;
  documents: { fetcher: DocumentFetcher; queue: DocumentQueue };
  countSiteRun: (result: RunResult) => void;
  quota: RpcClient<typeof QuotaService>;
  llm: RpcClient<typeof LlmService>;
  leaseSeconds: number;
  reportInterrupted: NotifySettler;
  reportCancelled: NotifySettler;
  closingSignal: AbortSignal;
  log: Logger;
};

/** Creates what works on the workspaces of one shard in the background. If the shard does not respond, the work of the other shards continues. */
export function createShardWorkers({ number, database }: Shard, deps: ShardWorkersDeps) {
  const taskDatabase = new CallPool(database, TASK_CONNECTION_SHARE).databaseFor(new AbortController().signal);
  const { leaseSeconds, reportInterrupted, reportCancelled, closingSignal, log } = deps;
  const llm = llmOfShard(deps.llm, number);
  const quota = quotaOfShard(deps.quota, number);
  return {
    number,
    database,
    /** A share of the pool, for periodic tasks. The signal is never aborted, because a task has no caller that could cancel it. */
    taskDatabase,
    dispatcher: deps.createDispatcher(taskDatabase),
    emailSender: deps.createEmailSender(taskDatabase),
    quota,
    llm,
    embeddings: new EmbeddingWorker(database, llm, log),
    siteCrawler: new SiteCrawler({
      database,
      ...deps.documents,
      readLimits: createLimitsReader(quota),
      countRun: deps.countSiteRun,
      log,
    }),
    sweeper: new Sweeper(database, leaseSeconds, reportInterrupted, log),
    keyUses: new KeyUses(database),
    visitorEraser: new VisitorEraser({ database, notifySettler: reportCancelled, closingSignal, log }),
  };
}
