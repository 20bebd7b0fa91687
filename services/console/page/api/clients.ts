import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import {
  AuditLogAdminService,
  BotAdminService,
  EvaluationAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  QuestionAdminService,
  SessionAdminService,
  ToolAdminService,
  TurnAdminService,
} from "@parley/rpc/conversation";
import { AuditLogAdminService as QuotaAuditLogAdminService, WorkspaceAdminService } from "@parley/rpc/quota";
import { batchingFetch } from "./batch.ts";

const transport = createConnectTransport({
  baseUrl: `${location.origin}/api/rpc`,
  fetch: batchingFetch,
  useBinaryFormat: false,
});

export const bots = createClient(BotAdminService, transport);
export const keys = createClient(KeyAdminService, transport);
export const knowledge = createClient(KnowledgeAdminService, transport);
export const questions = createClient(QuestionAdminService, transport);
export const evaluations = createClient(EvaluationAdminService, transport);
export const moderation = createClient(ModerationAdminService, transport);
export const workspaces = createClient(WorkspaceAdminService, transport);
export const sessions = createClient(SessionAdminService, transport);
export const turns = createClient(TurnAdminService, transport);
export const tools = createClient(ToolAdminService, transport);
/** The conversation service and the quota service each keep an audit log of their own admin methods. */
export const auditLogs = [
  createClient(AuditLogAdminService, transport),
  createClient(QuotaAuditLogAdminService, transport),
] as const;
