import type { Change } from "@parley/rpc/access";
import { labelOf } from "../components/field-labels.ts";

const ACTIONS: Readonly<Record<string, string>> = {
  "AuditAdminService/Repair": "Corrected the usage after a fault",
  "BotAdminService/CreateBot": "Created the bot",
  "BotAdminService/UpdateBot": "Changed the bot",
  "BotAdminService/DeleteBot": "Deleted the bot",
  "BotAdminService/DuplicateBot": "Duplicated the bot",
  "BotAdminService/UploadLogo": "Uploaded a logo for the bot",
  "ConversationService/EraseVisitor": "Erased a visitor",
  "ConversationService/SoftDeleteSession": "Deleted a conversation",
  "KeyAdminService/CreateKey": "Created a key of",
  "KeyAdminService/UpdateKey": "Changed a key of",
  "KeyAdminService/RevokeKey": "Revoked a key of",
  "KnowledgeAdminService/AddSource": "Added the document",
  "KnowledgeAdminService/RemoveSource": "Removed the document",
  "KnowledgeAdminService/RenameSource": "Renamed the document",
  "EvaluationAdminService/AddCase": "Added a question to the evaluation of",
  "EvaluationAdminService/RemoveCase": "Removed a question from the evaluation of",
  "EvaluationAdminService/RunEvaluation": "Ran the evaluation of",
  "ModerationAdminService/AddPattern": "Added a rule to",
  "ModerationAdminService/UpdatePattern": "Changed a rule of",
  "ModerationAdminService/RemovePattern": "Removed a rule from",
  "SessionAdminService/DeleteSession": "Deleted a conversation",
  "SessionAdminService/EraseSession": "Erased a conversation",
  "SessionAdminService/EraseVisitorSessions": "Erased a visitor",
  "SessionAdminService/ReviewMessage": "Reviewed an answer",
  "ToolAdminService/PutTool": "Added or changed the tool",
  "ToolAdminService/RemoveTool": "Removed the tool",
  "WorkspaceAdminService/AdjustUsage": "Corrected the usage of",
  "WorkspaceAdminService/CreateWorkspace": "Created the workspace",
  "WorkspaceAdminService/ResetUnpaid": "Reset today's number of answers that do not count",
  "WorkspaceAdminService/SetKnowledgeLimits": "Set the knowledge limits of the plan",
  "WorkspaceAdminService/SetPlan": "Set the plan",
  "WorkspaceAdminService/SetRetention": "Set how many days conversations are kept:",
  "WorkspaceDeletionAdminService/DeleteWorkspace": "Deleted the workspace",
  "WorkspaceDeletionAdminService/RestoreWorkspace": "Restored the workspace",
};
/** The fields that may name a target, most readable first: a document's name comes before its id. */
const NAME_FIELDS = ["name", "plan", "retention_days", "month", "slug", "bot_slug"];
export type DescribedChange = {
  action: string;
  /** The name that completes `action`, such as the bot's name after "Created a key of"; may be empty. */
  name: string;
  /** The bot (unless `name` is its name), the conversation, the public key, and the changed fields. */
  details: string[];
};

/** `botNames` are the bots' names by slug. If the change's method is unknown, `action` is the method's name. */
export function describeChange(
  { method, target, changedFields }: Change,
  botNames: ReadonlyMap<string, string>,
): DescribedChange {
  const isKey = method.startsWith("KeyAdminService/");
  // "Created a key of" is completed by the bot, not by the name of the key.
  const nameField = NAME_FIELDS.find((each) => target[each] !== undefined && !(isKey && each === "name")) ?? "";
  const nameOf = (field: string) => {
    const value = target[field];
    return value !== undefined && field.endsWith("slug") ? (botNames.get(value) ?? value) : value;
  };
  const fields = changedFields.map((field) => labelOf(field) ?? field.replaceAll("_", " ")).join(", ");
  const details = [
    nameField === "bot_slug" ? undefined : nameOf("bot_slug"),
    target.session_id && `Conversation ${target.session_id}`,
    isKey && target.name && `Key “${target.name}”`,
    target.new_name && `Now ${target.new_name}`,
    target.new_slug && `As ${target.new_slug}`,
    target.public_key,
    fields,
  ];
  return {
    action: ACTIONS[method] ?? method.replace("/", " "),
    name: nameOf(nameField) ?? "",
    details: details.filter(Boolean) as string[],
  };
}
