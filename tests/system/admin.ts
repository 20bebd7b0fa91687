import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import {
  AuditAdminService,
  BotAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  SessionAdminService,
  ToolAdminService,
  TurnAdminService,
} from "@parley/rpc/conversation";
import { CallLedgerAdminService, ProviderAdminService } from "@parley/rpc/llm";
import { BooksAdminService, WorkspaceAdminService } from "@parley/rpc/quota";
import { ADMIN_TOKEN } from "./processes.ts";

export type Admin = {
  workspaces: Client<typeof WorkspaceAdminService>;
  bots: Client<typeof BotAdminService>;
  keys: Client<typeof KeyAdminService>;
  moderation: Client<typeof ModerationAdminService>;
  knowledge: Client<typeof KnowledgeAdminService>;
  tools: Client<typeof ToolAdminService>;
  sessions: Client<typeof SessionAdminService>;
  audit: Client<typeof AuditAdminService>;
  providers: Client<typeof ProviderAdminService>;
  calls: Client<typeof CallLedgerAdminService>;
  turns: Client<typeof TurnAdminService>;
  books: Client<typeof BooksAdminService>;
};

type OpsPorts = { conversation: number; quota: number; llm: number };

/** Creates a client of each admin service, authorized with the admin token. */
export function adminClients(ports: OpsPorts): Admin {
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
    bots: createClient(BotAdminService, conversation),
    keys: createClient(KeyAdminService, conversation),
    moderation: createClient(ModerationAdminService, conversation),
    knowledge: createClient(KnowledgeAdminService, conversation),
    tools: createClient(ToolAdminService, conversation),
    sessions: createClient(SessionAdminService, conversation),
    audit: createClient(AuditAdminService, conversation),
    providers: createClient(ProviderAdminService, llm),
    calls: createClient(CallLedgerAdminService, llm),
    turns: createClient(TurnAdminService, conversation),
    books: createClient(BooksAdminService, quota),
  };
}
