import type { DescMethod } from "@bufbuild/protobuf";
import { mayCall, type Role } from "@parley/rpc/access";
import {
  AnswerAdminService,
  AuditLogAdminService,
  BotAdminService,
  CannedReplyAdminService,
  EmailAdminService,
  EvaluationAdminService,
  HandoffService,
  IdentityKeyAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  ModerationAdminService,
  QuestionAdminService,
  SessionAdminService,
  ToolAdminService,
  TurnAdminService,
  WebhookAdminService,
} from "@parley/rpc/conversation";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import type { IconName } from "./components/icon.tsx";
import { t } from "./i18n/t.tsx";

/** `reads` is a method without which the screen and the pages below its path are empty: only members who may call it see them. */
type Screen = { to: string; name: string; icon: IconName; reads: DescMethod };

type NavigationGroup = { name: string; screens: readonly Screen[] };

/** The screens of the navigation. */
export const GROUPS = [
  {
    name: "",
    screens: [{ to: "/overview", name: t("Overview"), icon: "home", reads: TurnAdminService.method.getStatistics }],
  },
  {
    name: t("Talk"),
    screens: [
      { to: "/inbox", name: t("Inbox"), icon: "inbox", reads: HandoffService.method.listHandoffs },
      { to: "/conversations", name: t("Conversations"), icon: "chat", reads: SessionAdminService.method.listSessions },
      {
        to: "/canned-replies",
        name: t("Canned replies"),
        icon: "copy",
        reads: CannedReplyAdminService.method.listCannedReplies,
      },
      {
        to: "/questions",
        name: t("Unanswered questions"),
        icon: "question",
        reads: QuestionAdminService.method.listUnanswered,
      },
    ],
  },
  {
    name: t("Build"),
    screens: [
      { to: "/bots", name: t("Bots"), icon: "bot", reads: BotAdminService.method.listBots },
      { to: "/knowledge", name: t("Knowledge"), icon: "book", reads: KnowledgeAdminService.method.listSources },
      { to: "/answers", name: t("Answers"), icon: "answer", reads: AnswerAdminService.method.listAnswers },
      { to: "/moderation", name: t("Moderation"), icon: "shield", reads: ModerationAdminService.method.listPatterns },
      { to: "/tools", name: t("Tools"), icon: "tool", reads: ToolAdminService.method.listTools },
    ],
  },
  {
    name: t("Test"),
    screens: [
      { to: "/playground", name: t("Playground"), icon: "play", reads: BotAdminService.method.listBots },
      { to: "/evaluation", name: t("Evaluation"), icon: "target", reads: EvaluationAdminService.method.getEvaluation },
    ],
  },
  {
    name: t("Manage"),
    screens: [
      { to: "/keys", name: t("Keys"), icon: "key", reads: KeyAdminService.method.listKeys },
      { to: "/visitors", name: t("Visitors"), icon: "user", reads: IdentityKeyAdminService.method.listIdentityKeys },
      { to: "/webhooks", name: t("Webhooks"), icon: "link", reads: WebhookAdminService.method.listEndpoints },
      { to: "/emails", name: t("E-mail"), icon: "mail", reads: EmailAdminService.method.listRecipients },
      { to: "/usage", name: t("Usage"), icon: "chart", reads: WorkspaceAdminService.method.showUsage },
      {
        to: "/audit-log",
        name: t("Audit log"),
        icon: "clock",
        reads: AuditLogAdminService.method.listAuditLogEntries,
      },
    ],
  },
] as const satisfies readonly NavigationGroup[];

const SCREENS = GROUPS.flatMap(({ screens }) => [...screens]);

/** Returns the first screen of the navigation that the role may read. Returns undefined if there is none. */
export function findHome(role: Role | undefined) {
  return SCREENS.find(({ reads }) => mayCall(role, reads));
}

/** Returns the screen at the path or above it. Returns undefined if there is none. */
export function findScreen(path: string) {
  return SCREENS.find(({ to }) => path === to || path.startsWith(`${to}/`));
}
