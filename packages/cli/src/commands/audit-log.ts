import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type AuditLogEntry, AuditLogEntrySchema } from "@parley/rpc/access";
import {
  AuditLogAdminService as ConversationAuditLog,
  ListAuditLogEntriesRequestSchema,
} from "@parley/rpc/conversation";
import { AuditLogAdminService as LlmAuditLog } from "@parley/rpc/llm";
import { readPages } from "@parley/rpc/pages";
import { AuditLogAdminService as QuotaAuditLog, WorkspaceAdminService } from "@parley/rpc/quota";
import { limitsOf } from "@parley/rpc/rules";
import type { CallAdmin } from "../admin/call.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatTable } from "../output/table.ts";
import { parseSince, refuseEmpty, wholeNumberParser } from "./options.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 10_000;
const MAX_PAGE_SIZE = limitsOf(ListAuditLogEntriesRequestSchema.field.pageSize).max;

type Page = { pageSize: number; pageToken: string };
type ListPage = (page: Page) => Promise<{ entries: AuditLogEntry[]; nextPageToken: string }>;
type Listed = { service: string; entry: AuditLogEntry };

export function addAuditLogCommand(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  program
    .command("audit-log")
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
      if (workspace !== undefined) return report(showWorkspaceEntries(callAdmin, workspace, limit));
      if (!all) throw new CliError("give --workspace W, or --all; run parley audit-log --help", { exitCode: 2 });
      return report(showAllEntries(callAdmin, since, limit));
    });
}

async function showWorkspaceEntries(callAdmin: CallAdmin, workspaceId: string, limit: number): Promise<Result> {
  // Conversation and quota each have the audit log of their own methods.
  const logs = await Promise.all([
    callAdmin(ConversationAuditLog, (service) =>
      list((page) => service.listAuditLogEntries({ workspaceId, ...page }), limit),
    ),
    callAdmin(QuotaAuditLog, (service) => list((page) => service.listAuditLogEntries({ workspaceId, ...page }), limit)),
  ]);
  const entries = logs
    .flat()
    .sort((a, b) => b.changedAt.localeCompare(a.changedAt))
    .slice(0, limit);
  return {
    json: entries.map((each) => messageToJson(AuditLogEntrySchema, each)),
    text: formatTable(
      ["time", "who", "method", "target", "fields"],
      entries.map((entry) => [entry.changedAt, entry.member || "operator", ...describeTarget(entry)]),
      "No changes yet",
    ),
  };
}

/** If `since` is empty, the services list the last 24 hours. */
async function showAllEntries(callAdmin: CallAdmin, since: string, limit: number): Promise<Result> {
  const [conversation, quota, llm, names] = await Promise.all([
    callAdmin(ConversationAuditLog, (service) =>
      list((page) => service.listAllAuditLogEntries({ since, ...page }), limit),
    ),
    callAdmin(QuotaAuditLog, (service) => list((page) => service.listAllAuditLogEntries({ since, ...page }), limit)),
    callAdmin(LlmAuditLog, (service) => list((page) => service.listAllAuditLogEntries({ since, ...page }), limit)),
    callAdmin(WorkspaceAdminService, (service) => service.listWorkspaces({})),
  ]);
  const nameById = new Map(names.workspaces.map(({ id, name }) => [id, name]));
  const label = (service: string, entries: readonly AuditLogEntry[]): Listed[] =>
    entries.map((entry) => ({ service, entry }));
  const entries = [...label("conversation", conversation), ...label("quota", quota), ...label("llm-proxy", llm)]
    .sort((a, b) => b.entry.changedAt.localeCompare(a.entry.changedAt))
    .slice(0, limit);
  const table = formatTable(
    ["when", "service", "workspace", "name", "what", "target", "fields", "by"],
    entries.map(({ service, entry }) => [
      ...[entry.changedAt, service, entry.workspaceId || "–", nameById.get(entry.workspaceId) ?? "–"],
      // Omits values that other columns have.
      ...describeTarget(entry, [entry.workspaceId, nameById.get(entry.workspaceId), entry.target.release]),
      whoMade(entry),
    ]),
    `No changes since ${since || "24 hours ago"}.`,
  );
  const note =
    entries.length === limit ? `\nOnly the newest ${limit} changes are listed. Older ones: raise --limit.\n` : "";
  return {
    json: entries.map(({ service, entry }) => ({
      service,
      workspace_name: nameById.get(entry.workspaceId) ?? "",
      ...messageToJson(AuditLogEntrySchema, entry),
    })),
    text: table + note,
  };
}

/** Returns the method, the target without the values in `omitted`, and the changed fields as cells. */
function describeTarget(
  { method, target, changedFields }: AuditLogEntry,
  omitted: readonly (string | undefined)[] = [],
): string[] {
  const values = Object.entries(target).filter(([, value]) => !omitted.includes(value));
  return [method, values.map(([name, value]) => `${name}=${value}`).join(" "), changedFields.join(" ")];
}

/** Nobody is known for a reload: a process noticed that a file had changed. */
function whoMade({ method, member, target }: AuditLogEntry): string {
  if (method === "Configuration/Reload") return "–";
  return method === "Schema/Migrate" ? `release ${target.release}` : member || "operator";
}

/** Lists up to `limit` entries, newest first. */
async function list(listPage: ListPage, limit: number): Promise<AuditLogEntry[]> {
  const entries: AuditLogEntry[] = [];
  const pageSize = Math.min(limit, MAX_PAGE_SIZE);
  for await (const page of readPages((pageToken) => listPage({ pageSize, pageToken })))
    if (entries.push(...page.entries) >= limit) break;
  return entries.slice(0, limit);
}
