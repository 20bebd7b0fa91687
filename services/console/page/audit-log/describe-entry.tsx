import type { AuditLogEntry } from "@parley/rpc/access";
import type { ReactNode } from "react";
import { formatRetention } from "../components/durations.ts";
import { labelOf } from "../components/field-labels.ts";
import { T, t } from "../i18n/t.tsx";

const HANDOFF_ACTIONS: Readonly<Record<string, string>> = {
  take: t("Took a conversation"),
  assign: t("Assigned a conversation"),
  resolve: t("Gave a conversation back to the bot"),
  contact_done: t("Marked a message for the team as answered"),
};

/** What the sentence about a change may name. `name` is that of a document, a tool or a workspace. */
type Target = Readonly<Record<"bot" | "name" | "plan" | "time" | "month" | "handoff", ReactNode>>;

const ACTIONS: Readonly<Record<string, (target: Target) => ReactNode>> = {
  "UsageAuditAdminService/Repair": () => t("Corrected the usage after a fault"),
  "BotAdminService/CreateBot": (target) => <T text="Created the bot {bot}" {...target} />,
  "BotAdminService/UpdateBot": (target) => <T text="Changed the bot {bot}" {...target} />,
  "BotAdminService/DeleteBot": (target) => <T text="Deleted the bot {bot}" {...target} />,
  "BotAdminService/DuplicateBot": (target) => <T text="Duplicated the bot {bot}" {...target} />,
  "BotAdminService/UploadLogo": (target) => <T text="Uploaded a logo for the bot {bot}" {...target} />,
  "KeyAdminService/CreateKey": (target) => <T text="Created a key of {bot}" {...target} />,
  "KeyAdminService/UpdateKey": (target) => <T text="Changed a key of {bot}" {...target} />,
  "KeyAdminService/RevokeKey": (target) => <T text="Revoked a key of {bot}" {...target} />,
  "IdentityKeyAdminService/CreateIdentityKey": () => t("Created an identity key"),
  "IdentityKeyAdminService/RevokeIdentityKey": () => t("Revoked an identity key"),
  "WebhookAdminService/CreateEndpoint": () => t("Added a webhook"),
  "WebhookAdminService/UpdateEndpoint": () => t("Changed a webhook"),
  "WebhookAdminService/DeleteEndpoint": () => t("Deleted a webhook"),
  "WebhookAdminService/RotateSecret": () => t("Replaced the secret of a webhook"),
  "WebhookAdminService/SendTestEvent": () => t("Sent a test event to a webhook"),
  "WebhookAdminService/Redeliver": () => t("Sent events to a webhook again"),
  "Webhooks/DisableEndpoint": () => t("Disabled a webhook whose receiver failed"),
  "EmailAdminService/AddRecipient": () => t("Added a recipient of e-mail"),
  "EmailAdminService/RemoveRecipient": () => t("Removed a recipient of e-mail"),
  "EmailAdminService/SendTestEmail": () => t("Sent a test e-mail"),
  "KnowledgeAdminService/AddSource": (target) => <T text="Added the document {name}" {...target} />,
  "KnowledgeAdminService/RemoveSource": (target) => <T text="Removed the document {name}" {...target} />,
  "KnowledgeAdminService/RenameSource": (target) => <T text="Renamed the document {name}" {...target} />,
  "SiteAdminService/PutSite": (target) => <T text="Added or changed a website of {bot}" {...target} />,
  "SiteAdminService/ScheduleSite": (target) => <T text="Changed the schedule of a website of {bot}" {...target} />,
  "SiteAdminService/RefreshSite": (target) => <T text="Refreshed a website of {bot}" {...target} />,
  "SiteAdminService/StopSite": (target) => <T text="Stopped the refresh of a website of {bot}" {...target} />,
  "SiteAdminService/RemoveSite": (target) => <T text="Removed a website from {bot}" {...target} />,
  "EvaluationAdminService/AddCase": (target) => <T text="Added a question to the evaluation of {bot}" {...target} />,
  "EvaluationAdminService/RemoveCase": (target) => (
    <T text="Removed a question from the evaluation of {bot}" {...target} />
  ),
  "EvaluationAdminService/RunEvaluation": (target) => <T text="Ran the evaluation of {bot}" {...target} />,
  "ModerationAdminService/AddPattern": (target) => <T text="Added a rule to {bot}" {...target} />,
  "ModerationAdminService/UpdatePattern": (target) => <T text="Changed a rule of {bot}" {...target} />,
  "ModerationAdminService/RemovePattern": (target) => <T text="Removed a rule from {bot}" {...target} />,
  "AnswerAdminService/AddAnswer": (target) => <T text="Added an answer to {bot}" {...target} />,
  "AnswerAdminService/UpdateAnswer": (target) => <T text="Changed an answer of {bot}" {...target} />,
  "AnswerAdminService/RemoveAnswer": (target) => <T text="Removed an answer from {bot}" {...target} />,
  "CannedReplyAdminService/AddCannedReply": (target) => <T text="Added the canned reply {name}" {...target} />,
  "CannedReplyAdminService/UpdateCannedReply": (target) => <T text="Changed the canned reply {name}" {...target} />,
  "CannedReplyAdminService/RemoveCannedReply": () => t("Removed a canned reply"),
  "SessionAdminService/DeleteSession": () => t("Deleted a conversation"),
  "SessionAdminService/EraseSession": () => t("Erased a conversation"),
  "SessionAdminService/EraseVisitor": () => t("Erased a visitor"),
  "SessionAdminService/ReviewMessage": () => t("Reviewed an answer"),
  "HandoffService/ChangeHandoff": ({ handoff }) => handoff,
  "HandoffService/AddNote": () => t("Added a private note"),
  "ToolAdminService/PutTool": (target) => <T text="Added or changed the tool {name}" {...target} />,
  "ToolAdminService/RemoveTool": (target) => <T text="Removed the tool {name}" {...target} />,
  "WorkspaceAdminService/AddCredit": () => t("Added a credit"),
  "WorkspaceAdminService/AdjustUsage": (target) => <T text="Corrected the usage of {month}" {...target} />,
  "WorkspaceAdminService/CreateWorkspace": (target) => <T text="Created the workspace {name}" {...target} />,
  "WorkspaceAdminService/ResetUnpaid": () => t("Reset today's number of answers that do not count"),
  "WorkspaceAdminService/RevokeCredit": () => t("Revoked a credit"),
  "WorkspaceAdminService/SetKnowledgeLimits": (target) => (
    <T text="Set the knowledge limits of the plan {plan}" {...target} />
  ),
  "WorkspaceAdminService/SetOverage": (target) => <T text="Set the overage of the plan {plan}" {...target} />,
  "WorkspaceAdminService/SetPlan": (target) => <T text="Set the plan {plan}" {...target} />,
  "WorkspaceAdminService/SetRetention": (target) => (
    <T text="Set how long conversations are kept: {time}" {...target} />
  ),
  "WorkspaceAdminService/SetUsageThresholds": () => t("Set the warning thresholds"),
  "WorkspaceDeletionAdminService/DeleteWorkspace": () => t("Deleted the workspace"),
  "WorkspaceDeletionAdminService/RestoreWorkspace": () => t("Restored the workspace"),
};
export type DescribedEntry = {
  /** A sentence. If the change's method is unknown, the method's name. */
  action: ReactNode;
  /** The bot (unless `action` names it), the conversation, the public key or identity key, and the changed fields. */
  details: string[];
};

/** `botNames` are the bots' names by slug. */
export function describeEntry(
  { method, target, changedFields }: AuditLogEntry,
  botNames: ReadonlyMap<string, string>,
): DescribedEntry {
  const isKey = method.startsWith("KeyAdminService/");
  const slug = target.slug ?? target.bot_slug ?? "";
  const bot = botNames.get(slug) ?? slug;
  const fields = changedFields.map((field) => labelOf(field) ?? field.replaceAll("_", " ")).join(", ");
  const details = [
    // The sentences with the name of a document or a tool do not name the bot.
    !isKey && target.name && bot,
    target.session_id && t("Conversation {id}", { id: target.session_id }),
    target.action === "assign" && t("To {name}", { name: target.agent_id ?? "" }),
    isKey && target.name && t("Key “{name}”", { name: target.name }),
    target.new_name && t("Now {name}", { name: target.new_name }),
    target.new_slug && t("As {name}", { name: target.new_slug }),
    target.public_key,
    target.kid,
    fields,
  ];
  return {
    action:
      ACTIONS[method]?.({
        bot: <strong>{bot}</strong>,
        name: <strong>{target.name}</strong>,
        plan: <strong>{target.plan}</strong>,
        time: <strong>{formatRetention(Number(target.retention_minutes ?? 0))}</strong>,
        month: <strong>{target.month}</strong>,
        handoff: HANDOFF_ACTIONS[target.action ?? ""] ?? t("Changed who answers a visitor"),
      }) ?? method.replace("/", " "),
    details: details.filter(Boolean) as string[],
  };
}
