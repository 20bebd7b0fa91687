import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type Change, ChangeSchema } from "@parley/rpc/access";
import { ChangeAdminService as ConversationChanges } from "@parley/rpc/conversation";
import { ChangeAdminService as LlmChanges } from "@parley/rpc/llm";
import { ChangeAdminService as QuotaChanges, WorkspaceAdminService } from "@parley/rpc/quota";
import type { CallAdmin } from "../admin/call.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatTable } from "../output/table.ts";
import { parseSince, refuseEmpty, wholeNumberParser } from "./options.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 10_000;
const MAX_PAGE_SIZE = 500;

type Page = { pageSize: number; pageToken: string };
type ListPage = (page: Page) => Promise<{ changes: Change[]; nextPageToken: string }>;
type Listed = { service: string; change: Change };

export function addChangesCommand(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  program
    .command("changes")
    .description("List who changed what, newest first.")
    .option("--workspace <id>", "Show the changes of one workspace.", refuseEmpty)
    .addOption(new Option("--all", "Show every workspace, reload and migration.").conflicts("workspace"))
    .addOption(
      new Option("--since <time>", "With --all: 90m, 24h, 7d or a time (default: 24h).")
        .argParser(parseSince)
        .conflicts("workspace"),
    )
    .option("--limit <count>", "Limit the number of changes.", wholeNumberParser(1, MAX_LIMIT), DEFAULT_LIMIT)
    .action(({ workspace, all = false, since = "", limit }) => {
      if (workspace !== undefined) return report(showWorkspaceChanges(callAdmin, workspace, limit));
      if (!all) throw new CliError("give --workspace W, or --all; run parley changes --help", { exitCode: 2 });
      return report(showAllChanges(callAdmin, since, limit));
    });
}

async function showWorkspaceChanges(callAdmin: CallAdmin, workspaceId: string, limit: number): Promise<Result> {
  // Conversation and quota each have the audit log of their own methods.
  const logs = await Promise.all([
    callAdmin(ConversationChanges, (service) => list((page) => service.listChanges({ workspaceId, ...page }), limit)),
    callAdmin(QuotaChanges, (service) => list((page) => service.listChanges({ workspaceId, ...page }), limit)),
  ]);
  const changes = logs
    .flat()
    .sort((a, b) => b.changedAt.localeCompare(a.changedAt))
    .slice(0, limit);
  return {
    json: changes.map((each) => messageToJson(ChangeSchema, each)),
    text: formatTable(
      ["time", "who", "method", "target", "fields"],
      changes.map((change) => [change.changedAt, change.member || "operator", ...describeTarget(change)]),
      "No changes yet",
    ),
  };
}

/** If `since` is empty, the services list the last 24 hours. */
async function showAllChanges(callAdmin: CallAdmin, since: string, limit: number): Promise<Result> {
  const [conversation, quota, llm, names] = await Promise.all([
    callAdmin(ConversationChanges, (service) => list((page) => service.listAllChanges({ since, ...page }), limit)),
    callAdmin(QuotaChanges, (service) => list((page) => service.listAllChanges({ since, ...page }), limit)),
    callAdmin(LlmChanges, (service) => list((page) => service.listAllChanges({ since, ...page }), limit)),
    callAdmin(WorkspaceAdminService, (service) => service.listWorkspaces({})),
  ]);
  const nameById = new Map(names.workspaces.map(({ id, name }) => [id, name]));
  const label = (service: string, changes: readonly Change[]): Listed[] =>
    changes.map((change) => ({ service, change }));
  const changes = [...label("conversation", conversation), ...label("quota", quota), ...label("llm-proxy", llm)]
    .sort((a, b) => b.change.changedAt.localeCompare(a.change.changedAt))
    .slice(0, limit);
  const table = formatTable(
    ["when", "service", "workspace", "name", "what", "target", "fields", "by"],
    changes.map(({ service, change }) => [
      ...[change.changedAt, service, change.workspaceId || "–", nameById.get(change.workspaceId) ?? "–"],
      // Omits values that other columns have.
      ...describeTarget(change, [change.workspaceId, nameById.get(change.workspaceId), change.target.release]),
      whoMade(change),
    ]),
    `No changes since ${since || "24 hours ago"}.`,
  );
  const note =
    changes.length === limit ? `\nOnly the newest ${limit} changes are listed. Older ones: raise --limit.\n` : "";
  return {
    json: changes.map(({ service, change }) => ({
      service,
      workspace_name: nameById.get(change.workspaceId) ?? "",
      ...messageToJson(ChangeSchema, change),
    })),
    text: table + note,
  };
}

/** Returns the method, the target without the values in `omitted`, and the changed fields as cells. */
function describeTarget(
  { method, target, changedFields }: Change,
  omitted: readonly (string | undefined)[] = [],
): string[] {
  const values = Object.entries(target).filter(([, value]) => !omitted.includes(value));
  return [method, values.map(([name, value]) => `${name}=${value}`).join(" "), changedFields.join(" ")];
}

/** Nobody is known for a reload: a process noticed that a file had changed. */
function whoMade({ method, member, target }: Change): string {
  if (method === "Configuration/Reload") return "–";
  return method === "Schema/Migrate" ? `release ${target.release}` : member || "operator";
}

/** Lists up to `limit` changes, newest first. */
async function list(listPage: ListPage, limit: number): Promise<Change[]> {
  const changes: Change[] = [];
  for (let pageToken = ""; changes.length < limit; ) {
    const pageSize = Math.min(limit - changes.length, MAX_PAGE_SIZE);
    const page = await listPage({ pageSize, pageToken });
    changes.push(...page.changes);
    pageToken = page.nextPageToken;
    if (pageToken === "") break;
  }
  return changes;
}
