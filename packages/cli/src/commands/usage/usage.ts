import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import type { CallAdmin } from "../../admin/call.ts";
import { requireField } from "../../admin/require-field.ts";
import { runBilling } from "../../billing/billing.ts";
import { reportBilling } from "../../billing/report.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import type { Result } from "../../output/result.ts";
import { formatCount, formatFields } from "../../output/table.ts";
import { monthOption, refuseEmpty } from "../options.ts";
import { addAdjustCommands } from "./usage-adjust.ts";
import { addMonthsCommand } from "./usage-months.ts";

export function addUsageCommand(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report, progress } = context;
  const usage = program
    .command("usage")
    .description("Show the usage of one or all workspaces.")
    .option("--workspace <id>", "Show the usage of one workspace.", refuseEmpty)
    .addOption(new Option("--all", "Show every workspace's usage, tokens and cost.").conflicts("workspace"))
    .addOption(monthOption())
    .addOption(new Option("--csv", "With --all, write CSV (RFC 4180).").conflicts("workspace"))
    .action(({ workspace, all = false, month = "", csv = false }) => {
      if (workspace !== undefined) return report(showUsage(callAdmin, workspace, month));
      if (!all) throw new CliError("give --workspace W, or --all; run parley usage --help", { exitCode: 2 });
      const reportProgress = (count: number) => progress(`${formatCount(count, "workspace")} …`);
      return report(
        runBilling(callAdmin, month, reportProgress).then((billing) => reportBilling(billing, csv ? "csv" : "table")),
      );
    });
  addAdjustCommands(usage, context);
  addMonthsCommand(usage, context);
}

function showUsage(callAdmin: CallAdmin, workspaceId: string, month: string): Promise<Result> {
  return callAdmin(WorkspaceAdminService, async (service) => {
    const response = await service.showUsage({ workspaceId, month });
    const { plan, cap, used, held, adjusted, resetsAt, month: usageMonth } = requireField(response.usage);
    return {
      json: { plan, cap, used, held, adjusted, resets_at: resetsAt },
      text: formatFields([
        ["workspace", workspaceId],
        ["month", usageMonth],
        ["plan", plan],
        ["used", used],
        ["of which adjusted", adjusted],
        ["held", held],
        ["cap", cap],
        ["remaining", Math.max(0, cap - used - held)],
        ["resets at", resetsAt],
      ]),
    };
  });
}
