import { randomUUID } from "node:crypto";
import { TurnOutcome } from "@parley/rpc/conversation";
import { SettleOutcome } from "@parley/rpc/quota";
import type { Fields } from "./raw-calls.ts";

/** What things are called, of one tenant or of nobody. */
export type Names = {
  botId: string;
  botSlug: string;
  sessionId: string;
  turnId: string;
  messageId: string;
  patternId: string;
  sourceName: string;
  toolName: string;
};

/** The tenant that asks, whose own things do exist. */
export type Asker = Names & { workspaceId: string };

export type Requests = {
  /** Requests in the asker's workspace that name things by `names`: each must be answered as if they were nobody's. */
  requests: (asker: Asker, names: Names) => Fields[];
  /** Fields of the answer that differ from call to call whatever is asked. */
  volatile?: string[];
  /** Makes a thing of the asker's own by that name, as it may. */
  isMaking?: true;
};

/** Calls that name nothing but a workspace: whatever is in them is that workspace's, and every unknown one is answered alike. */
const workspaceAlone = (fields: Fields = {}) => ({
  workspace: (workspaceId: string): Fields => ({ workspaceId, ...fields }),
});

/** Calls that name nothing of a workspace. */
const nothingOfATenant = (why: string) => ({ why });

export type Row = Requests | ReturnType<typeof workspaceAlone> | ReturnType<typeof nothingOfATenant>;

/** A tool that bots may have. */
export const ORDER_TOOL = {
  description: "Tells how an order stands.",
  method: "GET",
  url: "https://shop.example/orders",
  parameters: '{"type":"object","properties":{}}',
};

const month = new Date().toISOString().slice(0, 7);
const ofBot = (more: Fields = {}) => ({
  requests: ({ workspaceId }: Asker, { botSlug }: Names) => [{ workspaceId, botSlug, ...more }],
});
const ofSession: Requests = { requests: ({ workspaceId }, { sessionId }) => [{ workspaceId, sessionId }] };

/** Every RPC there is, and what it could be asked with another tenant's names. A new one needs a row here. */
export const CALLS: Readonly<Record<string, Row>> = {
  "parley.conversation.v1.ConversationService/ResolveKey": nothingOfATenant("a key is looked up by itself"),
  "parley.conversation.v1.ConversationService/ResolveBot": ofBot(),
  "parley.conversation.v1.ConversationService/RenewEdge": nothingOfATenant("an edge serves every tenant"),
  "parley.conversation.v1.ConversationService/OpenTurn": {
    requests: (asker, names) => [opening(asker, { botId: names.botId }), opening(asker, names, asker.botId)],
    volatile: ["messageId", "retrievalMicroseconds"],
    isMaking: true,
  },
  "parley.conversation.v1.ConversationService/CloseTurn": {
    requests: ({ workspaceId }, { turnId }) => [
      { workspaceId, turnId, outcome: TurnOutcome.DONE, month, content: "mine now" },
    ],
  },
  "parley.conversation.v1.ConversationService/RateMessage": {
    requests: ({ workspaceId, botId, sessionId, messageId }, names) =>
      [
        { botId, sessionId: names.sessionId, messageId: names.messageId },
        { botId, sessionId, messageId: names.messageId },
        { botId: names.botId, sessionId: names.sessionId, messageId: names.messageId },
        { botId: names.botId, sessionId, messageId },
      ].map((each) => ({ workspaceId, ...each, messageId: BigInt(each.messageId), rating: "down" })),
  },
  "parley.conversation.v1.ConversationService/ExportSession": ofSession,
  "parley.conversation.v1.BotAdminService/GetBot": bySlug({}),
  "parley.conversation.v1.BotAdminService/UpdateBot": bySlug({ changes: { systemPrompt: "mine now" } }),
  "parley.conversation.v1.BotAdminService/CreateBot": {
    ...bySlug({ changes: {} }),
    volatile: ["id", "createdAt"],
    isMaking: true,
  },
  "parley.conversation.v1.BotAdminService/ListBots": workspaceAlone(),
  "parley.conversation.v1.KeyAdminService/CreateKey": ofBot({ domains: ["a.example"] }),
  "parley.conversation.v1.KeyAdminService/ListKeys": workspaceAlone(),
  "parley.conversation.v1.KeyAdminService/RevokeKey": nothingOfATenant("a key is looked up by itself"),
  "parley.conversation.v1.ModerationAdminService/AddPattern": ofBot({ pattern: "p" }),
  "parley.conversation.v1.ModerationAdminService/ListPatterns": ofBot(),
  "parley.conversation.v1.ModerationAdminService/RemovePattern": {
    requests: ({ workspaceId, botSlug }, names) => [
      { workspaceId, botSlug, id: names.patternId },
      { workspaceId, botSlug: names.botSlug, id: names.patternId },
    ],
  },
  "parley.conversation.v1.ToolAdminService/PutTool": ofBot({
    tool: { name: "order", http: ORDER_TOOL },
  }),
  "parley.conversation.v1.ToolAdminService/ListTools": ofBot(),
  "parley.conversation.v1.ToolAdminService/RemoveTool": {
    requests: ({ workspaceId, botSlug }, names) => [
      { workspaceId, botSlug, name: names.toolName },
      { workspaceId, botSlug: names.botSlug, name: names.toolName },
    ],
  },
  "parley.conversation.v1.KnowledgeAdminService/AddSource": ofBot({
    name: "n",
    format: "txt",
    content: Buffer.from("words").toString("base64"),
  }),
  "parley.conversation.v1.KnowledgeAdminService/ListSources": ofBot(),
  "parley.conversation.v1.KnowledgeAdminService/RemoveSource": {
    requests: ({ workspaceId, botSlug }, names) => [
      { workspaceId, botSlug, name: names.sourceName },
      { workspaceId, botSlug: names.botSlug, name: names.sourceName },
    ],
  },
  "parley.conversation.v1.SessionAdminService/ListSessions": workspaceAlone(),
  "parley.conversation.v1.SessionAdminService/GetTranscript": ofSession,
  "parley.conversation.v1.SessionAdminService/DeleteSession": ofSession,
  "parley.conversation.v1.SessionAdminService/EraseSession": ofSession,
  "parley.conversation.v1.TurnAdminService/GetTurn": {
    requests: ({ workspaceId }, { messageId }) => [{ workspaceId, messageId }],
  },
  "parley.conversation.v1.AuditAdminService/Audit": workspaceAlone({ month }),
  "parley.quota.v1.QuotaService/Reserve": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId }],
    volatile: ["used"],
    isMaking: true,
  },
  "parley.quota.v1.QuotaService/Settle": {
    requests: ({ workspaceId }, { turnId }) => [
      { settlements: [{ workspaceId, turnId, outcome: SettleOutcome.VOID, month: "" }] },
    ],
    isMaking: true,
  },
  "parley.quota.v1.QuotaService/GetUsage": workspaceAlone(),
  "parley.quota.v1.QuotaService/GetWorkspace": workspaceAlone(),
  "parley.quota.v1.QuotaService/GetMonth": workspaceAlone({ month }),
  "parley.quota.v1.QuotaService/ListMonthTurns": workspaceAlone({ month }),
  "parley.quota.v1.WorkspaceAdminService/CreateWorkspace": nothingOfATenant("an operator's own, who sees every tenant"),
  "parley.quota.v1.WorkspaceAdminService/ListWorkspaces": nothingOfATenant("an operator's own, who sees every tenant"),
  "parley.quota.v1.WorkspaceAdminService/SetPlan": workspaceAlone({ plan: "scale" }),
  "parley.quota.v1.WorkspaceAdminService/SetRetention": workspaceAlone({ retentionDays: 0 }),
  "parley.quota.v1.WorkspaceAdminService/ShowUsage": workspaceAlone({ month }),
  "parley.quota.v1.WorkspaceAdminService/ListUsage": nothingOfATenant("an operator's own, who sees every tenant"),
  "parley.quota.v1.WorkspaceAdminService/ListNearestCap": nothingOfATenant("an operator's own, who sees every tenant"),
  "parley.quota.v1.BooksAdminService/GetTurnEntry": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId }],
  },
  "parley.llm.v1.LlmService/Generate": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId, model: "openai:default" }],
    isMaking: true,
  },
  "parley.llm.v1.LlmService/Embed": nothingOfATenant(
    "it stores nothing, and answers with nothing but what it was sent",
  ),
  "parley.llm.v1.ProviderAdminService/ListProviders": nothingOfATenant("providers serve every tenant"),
  "parley.llm.v1.ProviderAdminService/CheckProvider": nothingOfATenant("providers serve every tenant"),
  "parley.llm.v1.CallLedgerAdminService/ListCalls": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId }],
  },
  "parley.llm.v1.CallLedgerAdminService/ListCallsOfMonth": workspaceAlone({ month }),
  "parley.llm.v1.CallLedgerAdminService/SumCalls": workspaceAlone({ month }),
};

function bySlug(more: Fields): Requests {
  return { requests: ({ workspaceId }, { botSlug }) => [{ workspaceId, slug: botSlug, ...more }] };
}

/** A turn of the asker's, in which some names are others'. */
function opening({ workspaceId }: Asker, names: Partial<Names>, botId = names.botId): Fields {
  return {
    workspaceId,
    botId,
    turnId: names.turnId ?? randomUUID(),
    sessionId: names.sessionId ?? randomUUID(),
    edgeId: randomUUID(),
    source: "widget",
    message: "Hello?",
  };
}
