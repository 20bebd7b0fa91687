import { randomUUID } from "node:crypto";
import type { DescMessage } from "@bufbuild/protobuf";
import { ExportFormat, TurnOutcome } from "@parley/rpc/conversation";
import { ReservationState, SettleOutcome } from "@parley/rpc/quota";
import { METHODS, nameOf } from "./methods.ts";
import type { Fields } from "./raw-calls.ts";

/** Identifiers of a tenant's data, or identifiers that do not exist. */
export type Identifiers = {
  botId: string;
  botSlug: string;
  sessionId: string;
  turnId: string;
  messageId: string;
  patternId: string;
  answerId: string;
  replyId: string;
  sourceName: string;
  toolName: string;
  caseId: string;
  kid: string;
  webhookId: string;
  recipientId: string;
  siteId: string;
  creditId: string;
  visitorId: string;
};

/** A tenant with the identifiers of its existing data. */
export type TenantData = Identifiers & { workspaceId: string };

export type ForeignIdentifierCase = {
  /** Returns requests in the caller's workspace. The results must be the same for another tenant's identifiers and for unknown identifiers. */
  requests: (caller: TenantData, ids: Identifiers) => Fields[];
  /** Response fields that differ from call to call. */
  volatile?: string[];
  /** Set if the call creates data in the caller's workspace with the identifiers in `ids`. isolation.test.ts then uses a new caller. */
  creates?: true;
};

/** An RPC whose request identifies only a workspace. The response must be the same for every unknown workspace. */
const workspaceOnly = (fields: Fields = {}) => ({
  workspace: (workspaceId: string): Fields => ({ workspaceId, ...fields }),
});

/** An RPC that isolation.test.ts does not call, with the reason. */
const notCalled = (reason: string) => ({ reason });

export type RpcCase = ForeignIdentifierCase | ReturnType<typeof workspaceOnly> | ReturnType<typeof notCalled>;

export const ORDER_TOOL = {
  description: "Returns the status of an order.",
  method: "GET",
  url: "https://shop.example/orders",
  parameters: '{"type":"object","properties":{}}',
};

/** The egress guard refuses its address. */
export const SITE_URL = "http://127.0.0.1:9/";
export const WEBHOOK_URL = "https://receiver.example/events";

/** Answers the conversation of createTenantData. */
export const AGENT = { id: "agent-1", name: "Ada" };

const SMALL_GIF = Buffer.from("GIF89a\x01\0\x01\0\0\0\0;", "latin1").toString("base64");
const month = new Date().toISOString().slice(0, 7);
const ofBot = (more: Fields = {}) => ({
  requests: ({ workspaceId }: TenantData, { botSlug }: Identifiers) => [{ workspaceId, botSlug, ...more }],
});
const ofSource: ForeignIdentifierCase = {
  requests: ({ workspaceId, botSlug }, ids) => [
    { workspaceId, botSlug, name: ids.sourceName },
    { workspaceId, botSlug: ids.botSlug, name: ids.sourceName },
  ],
};
const ofSite: ForeignIdentifierCase = {
  requests: ({ workspaceId, botSlug }, ids) => [
    { workspaceId, botSlug, id: ids.siteId },
    { workspaceId, botSlug: ids.botSlug, id: ids.siteId },
  ],
};
const ofSession: ForeignIdentifierCase = { requests: ({ workspaceId }, { sessionId }) => [{ workspaceId, sessionId }] };

const ofVisitor: ForeignIdentifierCase = {
  requests: ({ workspaceId, botId, sessionId, visitorId }, ids) =>
    [
      { botId, sessionId: ids.sessionId, visitorId: ids.visitorId },
      { botId, sessionId, visitorId: ids.visitorId },
      { botId: ids.botId, sessionId, visitorId },
    ].map((each) => ({ workspaceId, ...each })),
};

const ofWebhook = (more: Fields = {}): ForeignIdentifierCase => ({
  requests: ({ workspaceId }, { webhookId }) => [{ workspaceId, id: webhookId, ...more }],
});

const ofRecipient: ForeignIdentifierCase = {
  requests: ({ workspaceId }, { recipientId }) => [{ workspaceId, id: recipientId }],
};

/** The cases of the RPCs whose requests contain more than a workspace, or more than a workspace and a bot. */
const WRITTEN_CASES: Readonly<Record<string, RpcCase>> = {
  "parley.conversation.v1.ConversationService/ResolveKey": notCalled("a public key is unique across tenants"),
  "parley.conversation.v1.ConversationService/GetLogo": notCalled("everybody may load a logo by its hash"),
  "parley.conversation.v1.ConversationService/RenewEdge": notCalled("an edge serves every tenant"),
  "parley.conversation.v1.ConversationService/OpenTurn": {
    requests: (caller, ids) => [
      openTurnFields(caller, { botId: ids.botId }),
      openTurnFields(caller, ids, caller.botId),
    ],
    volatile: ["messageId", "retrievalMicroseconds", "databaseTimeMicroseconds"],
    creates: true,
  },
  "parley.conversation.v1.ConversationService/FindTurn": {
    requests: ({ workspaceId, botId, sessionId, messageId }, ids) =>
      [
        { botId, sessionId: ids.sessionId, messageId: ids.messageId },
        { botId, sessionId, messageId: ids.messageId },
        { botId: ids.botId, sessionId, messageId },
      ].map((each) => ({ workspaceId, source: "widget", ...each, messageId: BigInt(each.messageId) })),
  },
  "parley.conversation.v1.ConversationService/CloseTurn": {
    requests: ({ workspaceId }, { turnId }) => [
      { workspaceId, turnId, outcome: TurnOutcome.DONE, month, content: "mine now" },
    ],
  },
  "parley.conversation.v1.ConversationService/RateMessage": {
    requests: ({ workspaceId, botId, sessionId, messageId }, ids) =>
      [
        { botId, sessionId: ids.sessionId, messageId: ids.messageId },
        { botId, sessionId, messageId: ids.messageId },
        { botId: ids.botId, sessionId: ids.sessionId, messageId: ids.messageId },
        { botId: ids.botId, sessionId, messageId },
      ].map((each) => ({ workspaceId, ...each, messageId: BigInt(each.messageId), rating: "down" })),
  },
  "parley.conversation.v1.ConversationService/ListVisitorSessions": {
    requests: ({ workspaceId, botId }, ids) =>
      [{ botId: ids.botId }, { botId }].map((each) => ({ workspaceId, visitorId: ids.visitorId, ...each })),
  },
  "parley.conversation.v1.ConversationService/ListVisitorMessages": ofVisitor,
  "parley.conversation.v1.ConversationService/RequestHandoff": ofVisitor,
  "parley.conversation.v1.ConversationService/ReadHandoff": ofVisitor,
  "parley.conversation.v1.ConversationService/LeaveContactMessage": {
    requests: (caller, ids) =>
      ofVisitor
        .requests(caller, ids)
        .map((each) => ({ ...each, requestId: randomUUID(), email: "mine@example.com", message: "mine now" })),
  },
  "parley.conversation.v1.ConversationService/ListRunningTurns": ofSession,
  "parley.conversation.v1.HandoffService/ChangeHandoff": {
    // tenant-data.ts gives the contact message the session's id.
    requests: ({ workspaceId }, { sessionId }) => [
      { workspaceId, sessionId, action: "take", agent: AGENT },
      { workspaceId, sessionId, action: "contact_done", contactId: sessionId },
    ],
  },
  "parley.conversation.v1.HandoffService/PostMessage": {
    requests: ({ workspaceId }, { sessionId }) => [
      { workspaceId, sessionId, requestId: randomUUID(), text: "mine now", agent: AGENT },
    ],
  },
  "parley.conversation.v1.HandoffService/AddNote": {
    requests: ({ workspaceId }, { sessionId }) => [
      { workspaceId, sessionId, requestId: randomUUID(), text: "mine now", author: AGENT },
    ],
  },
  "parley.conversation.v1.HandoffService/ListNotes": ofSession,
  "parley.conversation.v1.HandoffService/ListHandoffs": workspaceOnly(),
  "parley.conversation.v1.BotAdminService/GetBot": bySlug({}),
  "parley.conversation.v1.BotAdminService/UpdateBot": bySlug({ changes: { systemPrompt: "mine now" } }),
  "parley.conversation.v1.BotAdminService/DuplicateBot": bySlug({ newSlug: "copy" }),
  "parley.conversation.v1.BotAdminService/UploadLogo": bySlug({ content: SMALL_GIF }),
  "parley.conversation.v1.BotAdminService/DeleteBot": bySlug({}),
  "parley.conversation.v1.BotAdminService/CreateBot": {
    ...bySlug({ changes: {} }),
    volatile: ["id", "createdAt"],
    creates: true,
  },
  "parley.conversation.v1.KeyAdminService/CreateKey": ofBot({ domains: ["a.example"] }),
  "parley.conversation.v1.KeyAdminService/UpdateKey": notCalled("authorization.test.ts tests it"),
  "parley.conversation.v1.KeyAdminService/RevokeKey": notCalled("authorization.test.ts tests it"),
  "parley.conversation.v1.IdentityKeyAdminService/CreateIdentityKey": workspaceOnly(),
  "parley.conversation.v1.IdentityKeyAdminService/ListIdentityKeys": workspaceOnly(),
  "parley.conversation.v1.IdentityKeyAdminService/RevokeIdentityKey": {
    requests: ({ workspaceId }, { kid }) => [{ workspaceId, kid }],
  },
  "parley.conversation.v1.EmailAdminService/AddRecipient": workspaceOnly({ address: "ada@example.com" }),
  "parley.conversation.v1.EmailAdminService/RemoveRecipient": ofRecipient,
  "parley.conversation.v1.EmailAdminService/SendTestEmail": ofRecipient,
  "parley.conversation.v1.WebhookAdminService/CreateEndpoint": workspaceOnly({ changes: { url: WEBHOOK_URL } }),
  "parley.conversation.v1.WebhookAdminService/UpdateEndpoint": ofWebhook({ changes: { includeContent: true } }),
  "parley.conversation.v1.WebhookAdminService/DeleteEndpoint": ofWebhook(),
  "parley.conversation.v1.WebhookAdminService/RotateSecret": ofWebhook(),
  "parley.conversation.v1.WebhookAdminService/ListDeliveries": ofWebhook(),
  "parley.conversation.v1.WebhookAdminService/Redeliver": ofWebhook({ fromSequence: "1", toSequence: "1" }),
  "parley.conversation.v1.WebhookAdminService/SendTestEvent": ofWebhook(),
  "parley.conversation.v1.ModerationAdminService/AddPattern": ofBot({ pattern: "p" }),
  "parley.conversation.v1.ModerationAdminService/UpdatePattern": {
    requests: ({ workspaceId, botSlug }, ids) => [
      { workspaceId, botSlug, id: ids.patternId, changes: { pattern: "mine now" } },
      { workspaceId, botSlug: ids.botSlug, id: ids.patternId, changes: { pattern: "mine now" } },
    ],
  },
  "parley.conversation.v1.ModerationAdminService/CheckText": ofBot({ text: "never", unsaved: { pattern: "p" } }),
  "parley.conversation.v1.ModerationAdminService/RemovePattern": {
    requests: ({ workspaceId, botSlug }, ids) => [
      { workspaceId, botSlug, id: ids.patternId },
      { workspaceId, botSlug: ids.botSlug, id: ids.patternId },
    ],
  },
  "parley.conversation.v1.CannedReplyAdminService/AddCannedReply": workspaceOnly({ name: "n", text: "t" }),
  "parley.conversation.v1.CannedReplyAdminService/UpdateCannedReply": {
    requests: ({ workspaceId }, { replyId }) => [{ workspaceId, id: replyId, name: "mine", text: "now" }],
  },
  "parley.conversation.v1.CannedReplyAdminService/RemoveCannedReply": {
    requests: ({ workspaceId }, { replyId }) => [{ workspaceId, id: replyId }],
  },
  "parley.conversation.v1.AnswerAdminService/AddAnswer": ofBot({ questions: ["q"], answer: "a" }),
  "parley.conversation.v1.AnswerAdminService/UpdateAnswer": {
    requests: ({ workspaceId, botSlug }, ids) => [
      { workspaceId, botSlug, id: ids.answerId, answer: "mine now" },
      { workspaceId, botSlug: ids.botSlug, id: ids.answerId, answer: "mine now" },
    ],
  },
  "parley.conversation.v1.AnswerAdminService/ListAnswers": ofBot(),
  "parley.conversation.v1.AnswerAdminService/CheckMessage": ofBot({ message: "q" }),
  "parley.conversation.v1.AnswerAdminService/RemoveAnswer": {
    requests: ({ workspaceId, botSlug }, ids) => [
      { workspaceId, botSlug, id: ids.answerId },
      { workspaceId, botSlug: ids.botSlug, id: ids.answerId },
    ],
  },
  "parley.conversation.v1.ToolAdminService/PutTool": ofBot({
    tool: { name: "order", http: ORDER_TOOL },
  }),
  "parley.conversation.v1.ToolAdminService/RemoveTool": {
    requests: ({ workspaceId, botSlug }, ids) => [
      { workspaceId, botSlug, name: ids.toolName },
      { workspaceId, botSlug: ids.botSlug, name: ids.toolName },
    ],
  },
  "parley.conversation.v1.KnowledgeAdminService/AddSource": ofBot({
    name: "n",
    format: "txt",
    content: Buffer.from("words").toString("base64"),
  }),
  "parley.conversation.v1.KnowledgeAdminService/ListSources": ofBot(),
  "parley.conversation.v1.KnowledgeAdminService/GetSource": ofSource,
  "parley.conversation.v1.KnowledgeAdminService/GetSourceText": ofSource,
  // The same name, because other cases need it.
  "parley.conversation.v1.KnowledgeAdminService/RenameSource": {
    requests: ({ workspaceId, botSlug }, { botSlug: otherSlug, sourceName }) => [
      { workspaceId, botSlug, name: sourceName, newName: sourceName },
      { workspaceId, botSlug: otherSlug, name: sourceName, newName: sourceName },
    ],
  },
  "parley.conversation.v1.KnowledgeAdminService/RemoveSource": ofSource,
  "parley.conversation.v1.SiteAdminService/PutSite": ofBot({ url: SITE_URL }),
  "parley.conversation.v1.SiteAdminService/ListSites": ofBot(),
  "parley.conversation.v1.SiteAdminService/GetSite": ofSite,
  "parley.conversation.v1.SiteAdminService/ScheduleSite": ofSite,
  "parley.conversation.v1.SiteAdminService/RefreshSite": ofSite,
  "parley.conversation.v1.SiteAdminService/StopSite": ofSite,
  "parley.conversation.v1.SiteAdminService/RemoveSite": ofSite,
  "parley.conversation.v1.QuestionAdminService/CheckQuestion": ofBot({ question: "How long do refunds take?" }),
  "parley.conversation.v1.QuestionAdminService/ListUnanswered": ofBot(),
  "parley.conversation.v1.EvaluationAdminService/AddCase": {
    requests: ({ workspaceId, botSlug, sourceName }, ids) => [
      { workspaceId, botSlug, question: `New ${randomUUID()}?`, document: ids.sourceName },
      { workspaceId, botSlug: ids.botSlug, question: "New?", document: sourceName },
    ],
  },
  "parley.conversation.v1.EvaluationAdminService/RemoveCase": {
    requests: ({ workspaceId, botSlug }, ids) => [
      { workspaceId, botSlug, id: ids.caseId },
      { workspaceId, botSlug: ids.botSlug, id: ids.caseId },
    ],
  },
  "parley.conversation.v1.SessionAdminService/ListSessions": workspaceOnly(),
  "parley.conversation.v1.SessionAdminService/GetTranscript": ofSession,
  "parley.conversation.v1.SessionAdminService/ExportSessions": {
    requests: ({ workspaceId }, { botSlug, sessionId }) => [
      { workspaceId, format: ExportFormat.NDJSON, botSlug },
      // Ends before the sessions, because their rows would contain the time of the call.
      { workspaceId, format: ExportFormat.CSV, cursor: `1-1.${sessionId}.1` },
    ],
  },
  "parley.conversation.v1.SessionAdminService/ReviewMessage": {
    requests: ({ workspaceId, sessionId }, ids) => [
      { workspaceId, sessionId: ids.sessionId, messageId: ids.messageId, review: "bad" },
      { workspaceId, sessionId, messageId: ids.messageId, review: "bad" },
    ],
  },
  "parley.conversation.v1.SessionAdminService/DeleteSession": ofSession,
  "parley.conversation.v1.SessionAdminService/EraseSession": ofSession,
  "parley.conversation.v1.SessionAdminService/EraseVisitor": {
    requests: ({ workspaceId }, { visitorId }) => [{ workspaceId, visitorId }],
  },
  "parley.conversation.v1.TurnAdminService/ListTurns": ofSession,
  "parley.conversation.v1.TurnAdminService/GetStatistics": workspaceOnly(),
  "parley.conversation.v1.TurnAdminService/ListUsageByBot": workspaceOnly(),
  "parley.conversation.v1.TurnAdminService/CompareWeeks": notCalled("operators see every tenant"),
  "parley.conversation.v1.TurnAdminService/GetTurn": {
    requests: ({ workspaceId }, { messageId, turnId }) => [
      { workspaceId, messageId },
      { workspaceId, turnId },
    ],
  },
  "parley.conversation.v1.AuditLogAdminService/ListAllAuditLogEntries": notCalled("operators see every tenant"),
  "parley.conversation.v1.UsageAuditAdminService/AuditUsage": workspaceOnly({ month }),
  "parley.conversation.v1.UsageAuditAdminService/Repair": {
    requests: ({ workspaceId }, { turnId }) => [
      { workspaceId, since: "2026-01-01T00:00:00Z", token: `done 2026-01-01T00:00:00Z ${workspaceId} ${turnId}` },
    ],
  },
  "parley.quota.v1.QuotaService/Reserve": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId }],
    volatile: ["used"],
    creates: true,
  },
  "parley.quota.v1.QuotaService/Settle": {
    requests: ({ workspaceId }, { turnId }) => [
      { settlements: [{ workspaceId, turnId, outcome: SettleOutcome.VOID, month: "" }] },
    ],
    creates: true,
  },
  "parley.quota.v1.QuotaService/SetWorkspaceDeleted": workspaceOnly({ deleted: false }),
  "parley.quota.v1.QuotaService/GetMonth": workspaceOnly({ month }),
  "parley.quota.v1.QuotaService/ListMonthTurns": workspaceOnly({ month }),
  "parley.quota.v1.QuotaService/ListReservations": {
    requests: ({ workspaceId }, { turnId }) => [
      { workspaceId, state: ReservationState.DONE, pageToken: `2100-01-01T00:00:00Z ${workspaceId} ${turnId}` },
    ],
    volatile: ["listedUntil"],
  },
  "parley.quota.v1.QuotaService/GetReservations": {
    requests: ({ workspaceId }, { turnId }) => [{ turns: [{ workspaceId, turnId }] }],
  },
  "parley.quota.v1.QuotaService/AdjustTurns": {
    requests: ({ workspaceId }, { turnId }) => [
      { turns: [{ workspaceId, turnId }], outcome: SettleOutcome.VOID, reason: "test" },
    ],
  },
  "parley.quota.v1.QuotaService/ListRetentions": notCalled("it lists the workspaces of every tenant"),
  "parley.quota.v1.QuotaService/ListUnpaid": notCalled("it counts the replies of every tenant"),
  "parley.quota.v1.QuotaService/CorrectUnpaid": notCalled(
    "the conversation service corrects the counts of every tenant",
  ),
  "parley.quota.v1.QuotaService/ListMonths": notCalled("a month has the usage of every tenant"),
  "parley.quota.v1.QuotaService/CloseMonth": notCalled("a month has the usage of every tenant"),
  "parley.quota.v1.QuotaService/ListEvents": notCalled("it lists the events of every tenant"),
  "parley.quota.v1.WorkspaceAdminService/SetUsageThresholds": workspaceOnly({ thresholds: [80] }),
  "parley.quota.v1.WorkspaceAdminService/CreateWorkspace": notCalled("operators see every tenant"),
  "parley.quota.v1.WorkspaceAdminService/ListWorkspaces": notCalled("operators see every tenant"),
  "parley.quota.v1.WorkspaceAdminService/ListPlans": notCalled("a plan belongs to no tenant"),
  "parley.quota.v1.WorkspaceAdminService/SetKnowledgeLimits": notCalled("a plan belongs to no tenant"),
  "parley.quota.v1.WorkspaceAdminService/SetOverage": notCalled("a plan belongs to no tenant"),
  "parley.quota.v1.WorkspaceAdminService/AddCredit": {
    workspace: (workspaceId) => ({
      ...{ workspaceId, messages: 5, reason: "bought", operator: "ada" },
      requestId: randomUUID(),
    }),
  },
  "parley.quota.v1.WorkspaceAdminService/ListCredits": workspaceOnly(),
  "parley.quota.v1.WorkspaceAdminService/RevokeCredit": {
    requests: ({ workspaceId }, { creditId }) => [{ workspaceId, creditId }],
  },
  "parley.quota.v1.WorkspaceAdminService/SetPlan": workspaceOnly({ plan: "scale" }),
  "parley.quota.v1.WorkspaceAdminService/SetRetention": workspaceOnly({ retentionMinutes: 0 }),
  "parley.quota.v1.WorkspaceAdminService/ShowUsage": workspaceOnly({ month }),
  "parley.quota.v1.WorkspaceAdminService/ListUsage": notCalled("operators see every tenant"),
  "parley.quota.v1.WorkspaceAdminService/ListNearestCap": notCalled("operators see every tenant"),
  "parley.quota.v1.WorkspaceAdminService/AdjustUsage": {
    workspace: (workspaceId) => ({
      ...{ workspaceId, month, amount: 1, reason: "outage", operator: "ada" },
      requestId: randomUUID(),
    }),
  },
  "parley.quota.v1.WorkspaceAdminService/ListAdjustments": workspaceOnly({ month }),
  "parley.quota.v1.WorkspaceAdminService/ListUsageMonths": notCalled("operators see every tenant"),
  "parley.quota.v1.AuditLogAdminService/ListAllAuditLogEntries": notCalled("operators see every tenant"),
  "parley.llm.v1.AuditLogAdminService/ListAllAuditLogEntries": notCalled("reloads and migrations concern no tenant"),
  "parley.quota.v1.BooksAdminService/GetTurnEntry": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId }],
  },
  "parley.llm.v1.LlmService/Generate": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId, model: "openai:default" }],
    creates: true,
  },
  "parley.llm.v1.LlmService/CheckModelSettings": notCalled("it stores nothing, and the request names no tenant"),
  "parley.llm.v1.LlmService/ListTurnCosts": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnIds: [turnId] }],
  },
  "parley.llm.v1.LlmService/DescribeTools": notCalled("it stores nothing, and the request contains the tools"),
  "parley.llm.v1.LlmService/FillCallLog": notCalled("the conversation service sends the turns of all workspaces"),
  "parley.llm.v1.LlmService/Embed": notCalled("it stores nothing, and its response depends only on the request"),
  "parley.llm.v1.ProviderAdminService/ListProviders": notCalled("providers serve every tenant"),
  "parley.llm.v1.ProviderAdminService/CheckProvider": notCalled("providers serve every tenant"),
  "parley.llm.v1.CallLogAdminService/ListCalls": {
    requests: ({ workspaceId }, { turnId }) => [{ workspaceId, turnId }],
  },
  "parley.llm.v1.CallLogAdminService/ListCallsOfMonth": workspaceOnly({ month }),
  "parley.llm.v1.CallLogAdminService/SumCalls": workspaceOnly({ month }),
  // DeleteWorkspace comes last, because it hides the caller's workspace.
  "parley.conversation.v1.WorkspaceDeletionAdminService/RestoreWorkspace": workspaceOnly(),
  "parley.conversation.v1.WorkspaceDeletionAdminService/DeleteWorkspace": workspaceOnly(),
};

/** A case for each RPC of conversation, llm-proxy and quota. */
export const RPC_CASES: Readonly<Record<string, RpcCase>> = {
  ...Object.fromEntries(
    METHODS.filter((method) => !(nameOf(method) in WRITTEN_CASES)).flatMap((method): [string, RpcCase][] => {
      const rpcCase = caseOfRequest(method.input);
      return rpcCase === undefined ? [] : [[nameOf(method), rpcCase]];
    }),
  ),
  ...WRITTEN_CASES,
};

function caseOfRequest({ fields }: DescMessage): RpcCase | undefined {
  const names = fields.map(({ name }) => name).filter((name) => !name.startsWith("page_"));
  if (names.join() === "workspace_id") return workspaceOnly();
  return names.join() === "workspace_id,bot_slug" ? ofBot() : undefined;
}

/** Like ofBot, for RPCs whose field for the slug is `slug`. */
function bySlug(more: Fields): ForeignIdentifierCase {
  return { requests: ({ workspaceId }, { botSlug }) => [{ workspaceId, slug: botSlug, ...more }] };
}

/** Returns an OpenTurn request. Generates the turn id and the session id if `ids` lacks them. */
function openTurnFields({ workspaceId }: TenantData, ids: Partial<Identifiers>, botId = ids.botId): Fields {
  return {
    workspaceId,
    botId,
    turnId: ids.turnId ?? randomUUID(),
    sessionId: ids.sessionId ?? randomUUID(),
    edgeId: randomUUID(),
    source: "widget",
    message: "Hello?",
  };
}
