import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  AnswerAdminService,
  BotAdminService,
  CannedReplyAdminService,
  EmailAdminService,
  EvaluationAdminService,
  IdentityKeyAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  SessionAdminService,
  SiteAdminService,
  ToolAdminService,
  TurnAdminService,
  UsageAuditAdminService,
  WebhookAdminService,
  WorkspaceDeletionAdminService,
} from "@parley/rpc/conversation";
import { CallLogAdminService, ProviderAdminService } from "@parley/rpc/llm";
import { BooksAdminService, WorkspaceAdminService } from "@parley/rpc/quota";
import { ADMIN_TOKEN } from "./processes.ts";

export type AdminClients = {
  workspaces: Client<typeof WorkspaceAdminService>;
  deletions: Client<typeof WorkspaceDeletionAdminService>;
  bots: Client<typeof BotAdminService>;
  keys: Client<typeof KeyAdminService>;
  identityKeys: Client<typeof IdentityKeyAdminService>;
  webhooks: Client<typeof WebhookAdminService>;
  emails: Client<typeof EmailAdminService>;
  moderation: Client<typeof ModerationAdminService>;
  answers: Client<typeof AnswerAdminService>;
  cannedReplies: Client<typeof CannedReplyAdminService>;
  knowledge: Client<typeof KnowledgeAdminService>;
  sites: Client<typeof SiteAdminService>;
  evaluations: Client<typeof EvaluationAdminService>;
  tools: Client<typeof ToolAdminService>;
  sessions: Client<typeof SessionAdminService>;
  usageAudit: Client<typeof UsageAuditAdminService>;
  providers: Client<typeof ProviderAdminService>;
  callLog: Client<typeof CallLogAdminService>;
  turns: Client<typeof TurnAdminService>;
  usageAccounting: Client<typeof BooksAdminService>;
};

type OpsPorts = { conversation: number; quota: number; llm: number };

/** Creates clients that send the admin token. */
export function createAdminClients(ports: OpsPorts): AdminClients {
  const transport = (port: number) =>
    createConnectTransport({
      baseUrl: `http://127.0.0.1:${port}`,
      httpVersion: "1.1",
      interceptors: [
        (next) => (request) => {
          request.header.set("authorization", `Bearer ${ADMIN_TOKEN}`);
          return next(request);
        },
      ],
    });
  const [conversation, quota, llm] = [transport(ports.conversation), transport(ports.quota), transport(ports.llm)];
  return {
    workspaces: createClient(WorkspaceAdminService, quota),
    deletions: createClient(WorkspaceDeletionAdminService, conversation),
    bots: createClient(BotAdminService, conversation),
    keys: createClient(KeyAdminService, conversation),
    identityKeys: createClient(IdentityKeyAdminService, conversation),
    webhooks: createClient(WebhookAdminService, conversation),
    emails: createClient(EmailAdminService, conversation),
    moderation: createClient(ModerationAdminService, conversation),
    answers: createClient(AnswerAdminService, conversation),
    cannedReplies: createClient(CannedReplyAdminService, conversation),
    knowledge: createClient(KnowledgeAdminService, conversation),
    sites: createClient(SiteAdminService, conversation),
    evaluations: createClient(EvaluationAdminService, conversation),
    tools: createClient(ToolAdminService, conversation),
    sessions: createClient(SessionAdminService, conversation),
    usageAudit: createClient(UsageAuditAdminService, conversation),
    providers: createClient(ProviderAdminService, llm),
    callLog: createClient(CallLogAdminService, llm),
    turns: createClient(TurnAdminService, conversation),
    usageAccounting: createClient(BooksAdminService, quota),
  };
}
