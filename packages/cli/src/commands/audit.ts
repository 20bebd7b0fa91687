import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { AuditAdminService, type WorkspaceAudit, WorkspaceAuditSchema } from "@parley/rpc/conversation";
import type { Context } from "../context.ts";
import { messageJson } from "../output/json.ts";
import { table } from "../output/table.ts";
import { monthOption } from "./options.ts";

export function addAuditCommand(program: CommandUnknownOpts, { admin, report }: Context): void {
  program
    .command("audit")
    .description("Reconcile completed turns with the month's usage.")
    .option("--workspace <id>", "The workspace; default all.")
    .addOption(monthOption())
    .option("--check", "Exit 1 when usage does not reconcile.")
    .action(({ workspace: workspaceId = "", month = "", check = false }) =>
      report(
        admin(AuditAdminService, async (service) => {
          const { balanced, workspaces, month: auditedMonth } = await service.audit({ workspaceId, month });
          return {
            json: { balanced, workspaces: workspaces.map((each) => messageJson(WorkspaceAuditSchema, each)) },
            text: describe(balanced, workspaces, auditedMonth),
            exitCode: check && !balanced ? 1 : 0,
          };
        }),
      ),
    );
}

function describe(isBalanced: boolean, workspaces: readonly WorkspaceAudit[], month: string): string {
  const totals = table(
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
  const differences = workspaces.flatMap(({ id, differences: workspaceDifferences }) =>
    workspaceDifferences.map(({ kind, turnId }) => [id, kind, turnId || "–"]),
  );
  const verdict = `Turns and usage ${isBalanced ? "agree" : "differ"} for ${month}.\n`;
  if (differences.length === 0) return totals + verdict;
  return `${totals}\n${table(["workspace", "difference", "turn"], differences, "")}\n${verdict}`;
}
