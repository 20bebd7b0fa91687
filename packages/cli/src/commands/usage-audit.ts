import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import {
  type Repair,
  RepairSchema,
  UsageAuditAdminService,
  type WorkspaceUsageAudit,
  WorkspaceUsageAuditSchema,
} from "@parley/rpc/conversation";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatCount, formatTable } from "../output/table.ts";
import { monthOption, parseTime, refuseEmpty } from "./options.ts";

export function addUsageAuditCommand(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report } = context;
  program
    .command("usage-audit")
    .description("Reconcile completed turns with the month's usage.")
    .option("--workspace <id>", "Select the workspace (default: all).", refuseEmpty)
    .addOption(monthOption())
    .option("--check", "Exit 1 when usage does not reconcile.")
    .addOption(new Option("--repair", "Repair the differences.").conflicts(["month", "check"]))
    .addOption(
      new Option("--since <time>", "Repair turns since this time (default: RECONCILE_DAYS ago).").argParser(parseTime),
    )
    .action(({ workspace: workspaceId = "", month = "", check = false, repair = false, since = "" }) => {
      if (repair) return report(repairUsage(context, workspaceId, since));
      if (since !== "") throw new CliError("--since needs --repair", { exitCode: 2 });
      return report(
        callAdmin(UsageAuditAdminService, async (service) => {
          const { balanced, workspaces, month: auditedMonth } = await service.auditUsage({ workspaceId, month });
          return {
            json: { balanced, workspaces: workspaces.map((each) => messageToJson(WorkspaceUsageAuditSchema, each)) },
            text: describe(balanced, workspaces, auditedMonth),
            exitCode: check && !balanced ? 1 : 0,
          };
        }),
      );
    });
}

/** Calls Repair page by page. If a page after the first fails, returns the repairs of the previous pages with exit code 1. */
export async function repairUsage(
  { callAdmin, printError }: Context,
  workspaceId: string,
  since: string,
): Promise<Result> {
  const repairs: Repair[] = [];
  let checked = 0;
  let exitCode = 0;
  let token = "";
  do {
    try {
      const page = await callAdmin(UsageAuditAdminService, (service) => service.repair({ workspaceId, since, token }));
      repairs.push(...page.repairs);
      checked += page.checked;
      token = page.nextToken;
    } catch (error) {
      if (token === "" || !(error instanceof CliError)) throw error;
      printError(`${error.message}; not everything was compared, run the command again`);
      exitCode = 1;
      break;
    }
  } while (token !== "");
  const rows = repairs.map(({ workspaceId: id, turnId, kind, action }) => [id, turnId, kind, action]);
  return {
    json: { checked, repairs: repairs.map((each) => messageToJson(RepairSchema, each)) },
    text:
      (rows.length > 0 ? formatTable(["workspace", "turn", "difference", "repair"], rows, "") : "") +
      `${formatCount(repairs.length, "difference")} repaired among ${formatCount(checked, "turn or hold", "turns and holds")}.\n`,
    exitCode,
  };
}

function describe(isBalanced: boolean, workspaces: readonly WorkspaceUsageAudit[], month: string): string {
  const totals = formatTable(
    ["workspace", "done", "adjusted", "used", "ledger", "held", "waiting", "verdict"],
    workspaces.map((each) => [
      each.id,
      each.doneMessages,
      each.adjusted,
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
  return `${totals}\n${formatTable(["workspace", "difference", "turn"], differences, "")}\n${verdict}`;
}
