import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import type { Admin } from "../admin/call.ts";
import { requireField } from "../admin/require-field.ts";
import { bill } from "../billing/billing.ts";
import { report as billingReport } from "../billing/report.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import type { Result } from "../output/result.ts";
import { fields } from "../output/table.ts";
import { monthOption } from "./options.ts";

export function addUsageCommand(program: CommandUnknownOpts, { admin, report, progress }: Context): void {
  program
    .command("usage")
    .description("Show a month's usage or the billing run.")
    .option("--workspace <id>", "Show the usage of one workspace.")
    .addOption(new Option("--all", "Bill every workspace with tokens and cost.").conflicts("workspace"))
    .addOption(monthOption())
    .addOption(new Option("--csv", "With --all, write CSV (RFC 4180).").conflicts("workspace"))
    .action(({ workspace, all = false, month = "", csv = false }) => {
      if (workspace !== undefined) return report(showOne(admin, workspace, month));
      if (!all) throw new CliError("give --workspace W, or --all; run parley usage --help", { exitCode: 2 });
      const reportProgress = (count: number) => progress(`${count} workspaces …`);
      return report(
        bill(admin, month, reportProgress).then((billing) => billingReport(billing, csv ? "csv" : "table")),
      );
    });
}

function showOne(admin: Admin, workspaceId: string, month: string): Promise<Result> {
  return admin(WorkspaceAdminService, async (service) => {
    const response = await service.showUsage({ workspaceId, month });
    const { plan, cap, used, held, resetsAt, month: usageMonth } = requireField(response.usage);
    return {
      json: { plan, cap, used, held, resets_at: resetsAt },
      text: fields([
        ["workspace", workspaceId],
        ["month", usageMonth],
        ["plan", plan],
        ["used", used],
        ["held", held],
        ["cap", cap],
        ["remaining", Math.max(0, cap - used - held)],
        ["resets at", resetsAt],
      ]),
    };
  });
}
