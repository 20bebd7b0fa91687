import type { DescMethodUnary } from "@bufbuild/protobuf";
import {
  BotAdminService,
  ChangeAdminService,
  EvaluationAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  QuestionAdminService,
  SessionAdminService,
  ToolAdminService,
  TurnAdminService,
} from "@parley/rpc/conversation";
import { ChangeAdminService as QuotaChangeAdminService, WorkspaceAdminService } from "@parley/rpc/quota";

export type AdminService = "conversation" | "quota";

/** Every admin method that the console forwards. All are unary. */
const METHODS: readonly DescMethodUnary[] = [
  BotAdminService.method.createBot,
  BotAdminService.method.updateBot,
  BotAdminService.method.getBot,
  BotAdminService.method.listBots,
  BotAdminService.method.listModels,
  KeyAdminService.method.createKey,
  KeyAdminService.method.listKeys,
  KeyAdminService.method.revokeKey,
  KnowledgeAdminService.method.addSource,
  KnowledgeAdminService.method.listSources,
  KnowledgeAdminService.method.removeSource,
  QuestionAdminService.method.checkQuestion,
  QuestionAdminService.method.listUnanswered,
  EvaluationAdminService.method.addCase,
  EvaluationAdminService.method.removeCase,
  EvaluationAdminService.method.getEvaluation,
  EvaluationAdminService.method.runEvaluation,
  ModerationAdminService.method.addPattern,
  ModerationAdminService.method.listPatterns,
  ModerationAdminService.method.checkText,
  ModerationAdminService.method.removePattern,
  SessionAdminService.method.deleteSession,
  SessionAdminService.method.eraseVisitorSessions,
  SessionAdminService.method.reviewMessage,
  TurnAdminService.method.listTurns,
  TurnAdminService.method.getStatistics,
  TurnAdminService.method.listUsageByBot,
  ToolAdminService.method.listTools,
  ToolAdminService.method.removeTool,
  ChangeAdminService.method.listChanges,
  QuotaChangeAdminService.method.listChanges,
  WorkspaceAdminService.method.showUsage,
];

/** Maps each method that the console forwards to its service. A key is like `parley.quota.v1.WorkspaceAdminService/ShowUsage`. */
export const ALLOWED_METHODS: ReadonlyMap<string, AdminService> = new Map(
  METHODS.map(({ parent, name }) => [`${parent.typeName}/${name}`, parent.typeName.split(".")[1] as AdminService]),
);
