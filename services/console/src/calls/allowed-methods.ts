import type { DescMethodServerStreaming, DescMethodUnary } from "@bufbuild/protobuf";
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
// BooksAdminService reads entries of the usage ledger.
import {
  BooksAdminService,
  AuditLogAdminService as QuotaAuditLogAdminService,
  WorkspaceAdminService,
} from "@parley/rpc/quota";

export type TargetService = "conversation" | "quota";

export type AllowedMethod = { service: TargetService; isStream: boolean };

/** Every admin method that the console forwards. */
const METHODS: readonly (DescMethodUnary | DescMethodServerStreaming)[] = [
  BotAdminService.method.createBot,
  BotAdminService.method.updateBot,
  BotAdminService.method.duplicateBot,
  BotAdminService.method.uploadLogo,
  BotAdminService.method.deleteBot,
  BotAdminService.method.getBot,
  BotAdminService.method.listBots,
  BotAdminService.method.listModels,
  KeyAdminService.method.createKey,
  KeyAdminService.method.updateKey,
  KeyAdminService.method.listKeys,
  KeyAdminService.method.revokeKey,
  KnowledgeAdminService.method.addSource,
  KnowledgeAdminService.method.listSources,
  KnowledgeAdminService.method.getSource,
  KnowledgeAdminService.method.getSourceText,
  KnowledgeAdminService.method.renameSource,
  KnowledgeAdminService.method.removeSource,
  QuestionAdminService.method.checkQuestion,
  QuestionAdminService.method.listUnanswered,
  EvaluationAdminService.method.addCase,
  EvaluationAdminService.method.removeCase,
  EvaluationAdminService.method.getEvaluation,
  EvaluationAdminService.method.runEvaluation,
  ModerationAdminService.method.addPattern,
  ModerationAdminService.method.updatePattern,
  ModerationAdminService.method.listPatterns,
  ModerationAdminService.method.checkText,
  ModerationAdminService.method.removePattern,
  SessionAdminService.method.listSessions,
  SessionAdminService.method.getTranscript,
  SessionAdminService.method.deleteSession,
  SessionAdminService.method.eraseSession,
  SessionAdminService.method.eraseVisitor,
  SessionAdminService.method.reviewMessage,
  TurnAdminService.method.getTurn,
  TurnAdminService.method.listTurns,
  TurnAdminService.method.getStatistics,
  TurnAdminService.method.listUsageByBot,
  ToolAdminService.method.listTools,
  ToolAdminService.method.checkTools,
  ToolAdminService.method.putTool,
  ToolAdminService.method.removeTool,
  AuditLogAdminService.method.listAuditLogEntries,
  QuotaAuditLogAdminService.method.listAuditLogEntries,
  WorkspaceAdminService.method.showUsage,
  BooksAdminService.method.getTurnEntry,
];

/** Keyed by full name, such as `parley.quota.v1.WorkspaceAdminService/ShowUsage`. */
export const ALLOWED_METHODS: ReadonlyMap<string, AllowedMethod> = new Map(
  METHODS.map(({ parent, name, methodKind }) => [
    `${parent.typeName}/${name}`,
    { service: parent.typeName.split(".")[1] as TargetService, isStream: methodKind === "server_streaming" },
  ]),
);
