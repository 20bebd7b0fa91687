import { randomInt, randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { ConnectRouter } from "@connectrpc/connect";
import type { PatternThreadPool } from "@parley/bot-rules/moderation";
import type { RpcClient } from "@parley/rpc";
import {
  AuditLogAdminService,
  BotAdminService,
  EraseVisitorRequestSchema,
  EvaluationAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  QuestionAdminService,
  SessionAdminService,
  ToolAdminService,
  TurnAdminService,
  UsageAuditAdminService,
  WorkspaceDeletionAdminService,
} from "@parley/rpc/conversation";
import type { LlmService } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import { type AuditLog, type Database, type Logger, UPLOAD_OPTIONS } from "@parley/service-kit";
import { createModerationAdmin } from "./bot-rules/moderation.admin.ts";
import { createToolAdmin } from "./bot-rules/tools.admin.ts";
import { createBotAdmin } from "./bots/bots.admin.ts";
import type { Config } from "./config.ts";
import { handleEraseVisitor } from "./erasures/erase-visitor.rpc.ts";
import type { VisitorEraser } from "./erasures/erasures.worker.ts";
import { createEvaluationAdmin } from "./evaluations/evaluations.admin.ts";
import { createKeyAdmin } from "./keys/keys.admin.ts";
import { createPublicKey } from "./keys/public-key.ts";
import type { EmbeddingWorker } from "./knowledge/embeddings.worker.ts";
import { createKnowledgeAdmin } from "./knowledge/knowledge.admin.ts";
import type { QuestionSearch } from "./questions/index.ts";
import { createQuestionAdmin } from "./questions/questions.admin.ts";
import type { RepairDeps } from "./reconciliation/index.ts";
import { createSessionAdmin, type SessionAdminDeps } from "./sessions/sessions.admin.ts";
import { createTurnAdmin } from "./turns/turns.admin.ts";
import { createUsageAuditAdmin } from "./usage-audit/usage-audit.admin.ts";
import { createDeletionAdmin } from "./workspace-deletions/deletions.admin.ts";

export type AdminServicesDeps = Pick<SessionAdminDeps, "database" | "ownerReadPool" | "notifySettler"> & {
  quota: RpcClient<typeof QuotaService>;
  llm: RpcClient<typeof LlmService>;
  patternThreads: PatternThreadPool;
  embeddings: EmbeddingWorker;
  questionSearch: QuestionSearch;
  visitorEraser: VisitorEraser;
  auditLog: AuditLog;
  repairDeps: RepairDeps;
  config: Config;
  log: Logger;
};

export function registerAdminServices(router: ConnectRouter, deps: AdminServicesDeps): void {
  const { database, quota, ownerReadPool, questionSearch, repairDeps, config, log } = deps;
  const { keyPrefix, planModels, ownerToolPlans, egress } = config;
  const newKey = () => createPublicKey(keyPrefix, (below) => randomInt(below));
  router.service(BotAdminService, createBotAdmin({ database, quota, planModels, newId: randomUUID }));
  router.service(KeyAdminService, createKeyAdmin(database, keyPrefix, newKey));
  router.service(ModerationAdminService, createModerationAdmin(database, deps.patternThreads));
  router.service(ToolAdminService, createToolAdmin({ database, llm: deps.llm, quota, ownerToolPlans }));
  router.service(
    KnowledgeAdminService,
    createKnowledgeAdmin({ database, quota, egress, embeddings: deps.embeddings, log }),
    UPLOAD_OPTIONS,
  );
  router.service(QuestionAdminService, createQuestionAdmin({ database, questionSearch, ownerReadPool }));
  router.service(EvaluationAdminService, createEvaluationAdmin(database, questionSearch));
  router.service(
    SessionAdminService,
    createSessionAdmin({
      database,
      ownerReadPool,
      notifySettler: deps.notifySettler,
      eraseVisitor: (workspaceId, visitorId) => eraseVisitor(database, deps.visitorEraser, { workspaceId, visitorId }),
    }),
  );
  router.service(AuditLogAdminService, deps.auditLog);
  router.service(TurnAdminService, createTurnAdmin(ownerReadPool));
  router.service(WorkspaceDeletionAdminService, createDeletionAdmin({ database, quota }));
  router.service(UsageAuditAdminService, createUsageAuditAdmin({ ...repairDeps, quota, ...config.reconciliation }));
}

/** Sets no `member`, so `handleEraseVisitor` writes no audit log entry: the admin services' guard already writes one. */
async function eraseVisitor(
  database: Database,
  visitorEraser: VisitorEraser,
  visitor: { workspaceId: string; visitorId: string },
): Promise<bigint> {
  const request = create(EraseVisitorRequestSchema, { ...visitor, requestId: randomUUID() });
  return (await handleEraseVisitor(database, visitorEraser, request)).sessions;
}
