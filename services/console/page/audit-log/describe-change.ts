import type { Change } from "@parley/rpc/access";

const ACTIONS: Readonly<Record<string, string>> = {
  "AuditAdminService/Repair": "Repaired the usage",
  "BotAdminService/CreateBot": "Created the bot",
  "BotAdminService/UpdateBot": "Changed the bot",
  "ConversationService/EraseVisitor": "Erased a visitor",
  "ConversationService/SoftDeleteSession": "Deleted the conversation",
  "KeyAdminService/CreateKey": "Created a key of",
  "KeyAdminService/UpdateKey": "Changed the domains of a key of",
  "KeyAdminService/RevokeKey": "Revoked a key of",
  "KnowledgeAdminService/AddSource": "Added the document",
  "KnowledgeAdminService/RemoveSource": "Removed the document",
  "EvaluationAdminService/AddCase": "Added a question to the evaluation of",
  "EvaluationAdminService/RemoveCase": "Removed a question from the evaluation of",
  "EvaluationAdminService/RunEvaluation": "Ran the evaluation of",
  "ModerationAdminService/AddPattern": "Added a rule to",
  "ModerationAdminService/UpdatePattern": "Changed a rule of",
  "ModerationAdminService/RemovePattern": "Removed a rule from",
  "SessionAdminService/DeleteSession": "Deleted the conversation",
  "SessionAdminService/EraseSession": "Erased the conversation",
  "SessionAdminService/EraseVisitorSessions": "Erased a visitor",
  "SessionAdminService/ReviewMessage": "Reviewed an answer of the conversation",
  "ToolAdminService/PutTool": "Added or changed the tool",
  "ToolAdminService/RemoveTool": "Removed the tool",
  "WorkspaceAdminService/AdjustUsage": "Corrected the usage of",
  "WorkspaceAdminService/CreateWorkspace": "Created the workspace",
  "WorkspaceAdminService/ResetUnpaid": "Reset today's unpaid replies",
  "WorkspaceAdminService/SetKnowledgeLimits": "Set the knowledge limits of the plan",
  "WorkspaceAdminService/SetPlan": "Set the plan",
  "WorkspaceAdminService/SetRetention": "Set how many days conversations are kept:",
  "WorkspaceDeletionAdminService/DeleteWorkspace": "Deleted the workspace",
  "WorkspaceDeletionAdminService/RestoreWorkspace": "Restored the workspace",
};
/** The fields that may name a target, most readable first: a document's name comes before its id. */
const NAME_FIELDS = ["name", "session_id", "plan", "retention_days", "month", "slug", "bot_slug", "id"];

export type DescribedChange = {
  action: string;
  /** The name that completes `action`, such as the bot's slug after "Created a key of"; may be empty. */
  name: string;
  /** The bot (unless `name` is its slug), the public key, and the changed fields. */
  details: string[];
};

/** If the change's method is unknown, `action` is the method's name. */
export function describeChange({ method, target, changedFields }: Change): DescribedChange {
  const nameField = NAME_FIELDS.find((each) => target[each] !== undefined);
  const bot = "bot_slug" in target && nameField !== "bot_slug" ? `bot ${target.bot_slug}` : undefined;
  const fields = changedFields.map((each) => each.replaceAll("_", " ")).join(", ");
  return {
    action: ACTIONS[method] ?? method.replace("/", " "),
    name: nameField === undefined ? "" : (target[nameField] ?? ""),
    details: [bot, target.public_key, fields].filter((each) => each !== undefined && each !== "") as string[],
  };
}
