import { createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
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
  WebhookAdminService,
} from "@parley/rpc/conversation";
import { AuditLogAdminService as QuotaAuditLogAdminService, WorkspaceAdminService } from "@parley/rpc/quota";
import { toConnectError } from "./response-error.ts";
import { fetchWithSession, readText } from "./session-fetch.ts";

const transport = createConnectTransport({
  baseUrl: `${location.origin}/api/rpc`,
  fetch: fetchCall,
  useBinaryFormat: false,
});

export const bots = createClient(BotAdminService, transport);
export const keys = createClient(KeyAdminService, transport);
export const identityKeys = createClient(IdentityKeyAdminService, transport);
export const knowledge = createClient(KnowledgeAdminService, transport);
export const answers = createClient(AnswerAdminService, transport);
export const cannedReplies = createClient(CannedReplyAdminService, transport);
export const questions = createClient(QuestionAdminService, transport);
export const emails = createClient(EmailAdminService, transport);
export const evaluations = createClient(EvaluationAdminService, transport);
export const moderation = createClient(ModerationAdminService, transport);
export const workspaces = createClient(WorkspaceAdminService, transport);
export const sites = createClient(SiteAdminService, transport);
export const sessions = createClient(SessionAdminService, transport);
export const turns = createClient(TurnAdminService, transport);
export const webhooks = createClient(WebhookAdminService, transport);
export const tools = createClient(ToolAdminService, transport);
/** The conversation service and the quota service each keep an audit log of their own admin methods. */
export const auditLogs = [
  createClient(AuditLogAdminService, transport),
  createClient(QuotaAuditLogAdminService, transport),
] as const;

/** Throws like fetchWithSession, and ConnectError for an error that comes from the console or a proxy and not from the called service. */
async function fetchCall(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetchWithSession(String(input), init);
  if (!response.ok && !response.headers.has("parley-code")) throw await toConnectError(response);
  // Connect would report a connection that breaks before the body's end as an unexpected error.
  return new Response(await readText(response), response);
}
