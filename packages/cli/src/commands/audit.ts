import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { AuditAdminService, type WorkspaceAudit, WorkspaceAuditSchema } from "@parley/rpc/conversation";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { table } from "../output/table.ts";
import { monthOption } from "./options.ts";

export function addAuditCommand(program: CommandUnknownOpts, { admin, report }: Context): void {
  program
    .command("audit")
    .description("compare the finished replies of a month with what was counted and with the ledger")
    .option("--workspace <id>", "one workspace; every one unless given")
    .addOption(monthOption())
    .option("--check", "exit 1 when the books do not balance")
    .action(({ workspace: workspaceId = "", month = "", check = false }) =>
      report(
        admin(AuditAdminService, async (service) => {
          const { balanced, workspaces, month: shown } = await service.audit({ workspaceId, month });
          return {
            json: { balanced, workspaces: workspaces.map((each) => messageJson(WorkspaceAuditSchema, each)) },
            text: describe(balanced, workspaces, shown),
            exitCode: check && !balanced ? 1 : 0,
          };
        }),
      ),
    );
}

function describe(isBalanced: boolean, workspaces: readonly WorkspaceAudit[], month: string): string {
  const books = table(
    ["workspace", "done", "used", "ledger", "held", "waiting", "verdict"],
    workspaces.map((each) => [
      each.id,
      each.doneMessages,
      each.used,
      each.ledger,
      each.held,
      each.waiting,
      each.differences.length === 0 ? "balanced" : "differs",
    ]),
    "No workspaces.",
  );
  const differences = workspaces.flatMap(({ id, differences: found }) =>
    found.map(({ kind, turnId }) => [id, kind, turnId || "–"]),
  );
  const verdict = `${isBalanced ? "The books balance" : "The books do not balance"} for ${month}.\n`;
  if (differences.length === 0) return books + verdict;
  return `${books}\n${table(["workspace", "difference", "turn"], differences, "")}\n${verdict}`;
}
