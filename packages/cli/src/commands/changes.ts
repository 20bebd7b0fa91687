import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Change, ChangeSchema } from "@parley/rpc/access";
import { ChangeAdminService as ConversationChanges } from "@parley/rpc/conversation";
import { ChangeAdminService as QuotaChanges } from "@parley/rpc/quota";
import type { Context } from "../context.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatTable } from "../output/table.ts";
import { wholeNumberParser, workspaceOption } from "./options.ts";

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 10_000;
const MAX_PAGE_SIZE = 500;

type PageRequest = { workspaceId: string; pageSize: number; pageToken: string };
type ListChanges = (request: PageRequest) => Promise<{ changes: Change[]; nextPageToken: string }>;

export function addChangesCommand(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  program
    .command("changes")
    .description("List who changed what, newest first.")
    .requiredOption(...workspaceOption)
    .option("--limit <count>", "Limit the number of changes.", wholeNumberParser(1, MAX_LIMIT), DEFAULT_LIMIT)
    .action(({ workspace, limit }) => {
      const list = async (): Promise<Result> => {
        // Conversation and quota each have the audit log of their own methods.
        const logs = await Promise.all([
          callAdmin(ConversationChanges, (service) => listChanges(service.listChanges, workspace, limit)),
          callAdmin(QuotaChanges, (service) => listChanges(service.listChanges, workspace, limit)),
        ]);
        const changes = logs
          .flat()
          .sort((a, b) => b.changedAt.localeCompare(a.changedAt))
          .slice(0, limit);
        return {
          json: changes.map((each) => messageToJson(ChangeSchema, each)),
          text: formatTable(
            ["time", "who", "method", "target", "fields"],
            changes.map(({ changedAt, member, method, target, changedFields }) => [
              changedAt,
              member || "operator",
              method,
              Object.entries(target)
                .map(([name, value]) => `${name}=${value}`)
                .join(" "),
              changedFields.join(" "),
            ]),
            "No changes yet",
          ),
        };
      };
      return report(list());
    });
}

/** Lists up to `limit` changes, newest first. */
async function listChanges(list: ListChanges, workspaceId: string, limit: number): Promise<Change[]> {
  const changes: Change[] = [];
  for (let pageToken = ""; changes.length < limit; ) {
    const pageSize = Math.min(limit - changes.length, MAX_PAGE_SIZE);
    const page = await list({ workspaceId, pageSize, pageToken });
    changes.push(...page.changes);
    pageToken = page.nextPageToken;
    if (pageToken === "") break;
  }
  return changes;
}
