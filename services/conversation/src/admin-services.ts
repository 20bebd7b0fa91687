import { randomInt, randomUUID } from "node:crypto";
import type { ConnectRouter } from "@connectrpc/connect";
import type { PatternThreadPool } from "@parley/bot-rules/moderation";
import type { RpcClient } from "@parley/rpc";
import {
  AnswerAdminService,
  AuditLogAdminService,
  BotAdminService,
  CannedReplyAdminService,
  EmailAdminService,
  EvaluationAdminService,
  IdentityKeyAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  QuestionAdminService,
  SessionAdminService,
  SiteAdminService,
  ToolAdminService,
  TurnAdminService,
  UsageAuditAdminService,
  WebhookAdminService,
  WorkspaceDeletionAdminService,
} from "@parley/rpc/conversation";
import type { LlmService } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import {
  type AuditLog,
  type Logger,
  requireShard,
  type ShardedDatabase,
  shardOfWorkspace,
  UPLOAD_OPTIONS,
} from "@parley/service-kit";
import { createAnswerAdmin } from "./answers/answers.admin.ts";
import { createModerationAdmin } from "./bot-rules/moderation.admin.ts";
import { createToolAdmin } from "./bot-rules/tools.admin.ts";
import { createBotAdmin } from "./bots/bots.admin.ts";
import { createCannedReplyAdmin } from "./canned-replies/canned-replies.admin.ts";
import type { Config } from "./config.ts";
import type { DocumentFetcher, DocumentQueue } from "./documents/index.ts";
import { createEmailAdmin } from "./emails/index.ts";
import { createEvaluationAdmin } from "./evaluations/evaluations.admin.ts";
import { createIdentityKeyAdmin } from "./identity-keys/identity-keys.admin.ts";
import { KeyShards } from "./keys/key-shards.service.ts";
import { createKeyAdmin } from "./keys/keys.admin.ts";
import { createPublicKey } from "./keys/public-key.ts";
import type { EmbeddingWorker } from "./knowledge/embeddings.worker.ts";
import { createLimitsReader } from "./knowledge/index.ts";
import { createKnowledgeAdmin } from "./knowledge/knowledge.admin.ts";
import type { QuestionSearch } from "./questions/index.ts";
import { createQuestionAdmin } from "./questions/questions.admin.ts";
import type { OwnerReadPool } from "./sessions/index.ts";
import type { SessionHandlers } from "./sessions/sessions.admin.ts";
import { createSiteAdmin } from "./sites/index.ts";
import { createTurnCostReader } from "./turns/turn-costs.service.ts";
import { createTurnAdmin } from "./turns/turns.admin.ts";
import { createUsageAuditAdmin, type UsageAuditShard } from "./usage-audit/usage-audit.admin.ts";
import { createWebhookAdmin, type SecretBox } from "./webhooks/index.ts";
import { createDeletionAdmin } from "./workspace-deletions/deletions.admin.ts";

export type AdminServicesDeps = {
  sharded: ShardedDatabase;
  ownerReadPool: OwnerReadPool;
  sessionHandlers: SessionHandlers;
  quota: RpcClient<typeof QuotaService>;
  llm: RpcClient<typeof LlmService>;
  patternThreads: PatternThreadPool;
  /** By the shard's number. */
  embeddings: readonly EmbeddingWorker[];
  documents: { fetcher: DocumentFetcher; queue: DocumentQueue };
  questionSearch: QuestionSearch;
  auditLog: AuditLog;
  secretBox: SecretBox;
  /** By the shard's number. */
  usageAuditShards: readonly UsageAuditShard[];
  config: Config;
  log: Logger;
};

export function registerAdminServices(router: ConnectRouter, deps: AdminServicesDeps): void {
  const { sharded, quota, ownerReadPool, questionSearch, usageAuditShards, config, log } = deps;
  const { database, shards } = sharded;
  const { keyPrefix, planModels, ownerToolPlans, costPlans, egress } = config;
  /** Returns the entry for the workspace's shard. */
  const ofWorkspace = async <T>(byShard: readonly T[], workspaceId: string) =>
    requireShard(byShard, (await shardOfWorkspace(sharded, "conversation.turns", workspaceId)).number);
  const newKey = (shard?: number) => createPublicKey(keyPrefix, (below) => randomInt(below), shard);
  router.service(BotAdminService, createBotAdmin({ database, quota, llm: deps.llm, planModels, newId: randomUUID }));
  router.service(KeyAdminService, createKeyAdmin(sharded, new KeyShards(keyPrefix), newKey));
  router.service(IdentityKeyAdminService, createIdentityKeyAdmin(database, quota));
  const webhookDeps = { database, quota, egressPolicy: egress.policy, secretBox: deps.secretBox };
  router.service(WebhookAdminService, createWebhookAdmin(webhookDeps));
  const isEmailAvailable = config.email !== undefined;
  router.service(EmailAdminService, createEmailAdmin({ database, quota, isAvailable: isEmailAvailable }));
  router.service(ModerationAdminService, createModerationAdmin(database, deps.patternThreads));
  router.service(AnswerAdminService, createAnswerAdmin(database));
  router.service(CannedReplyAdminService, createCannedReplyAdmin(database, quota));
  router.service(ToolAdminService, createToolAdmin({ database, llm: deps.llm, quota, ownerToolPlans }));
  const findEmbeddingStatus = async (workspaceId: string) => (await ofWorkspace(deps.embeddings, workspaceId)).status;
  router.service(
    KnowledgeAdminService,
    createKnowledgeAdmin({ database, ...deps.documents, readLimits: createLimitsReader(quota), findEmbeddingStatus }),
    UPLOAD_OPTIONS,
  );
  router.service(SiteAdminService, createSiteAdmin(database));
  router.service(QuestionAdminService, createQuestionAdmin({ database, questionSearch, ownerReadPool }));
  router.service(EvaluationAdminService, createEvaluationAdmin(database, questionSearch));
  router.service(SessionAdminService, deps.sessionHandlers);
  router.service(AuditLogAdminService, deps.auditLog);
  router.service(
    TurnAdminService,
    createTurnAdmin(ownerReadPool, shards, createTurnCostReader({ llm: deps.llm, quota, costPlans, log })),
  );
  router.service(WorkspaceDeletionAdminService, createDeletionAdmin({ database, quota }));
  const findShard = (workspaceId: string) => ofWorkspace(usageAuditShards, workspaceId);
  const usageAuditDeps = { shards: usageAuditShards, findShard, ...config.reconciliation };
  router.service(UsageAuditAdminService, createUsageAuditAdmin(usageAuditDeps));
}
