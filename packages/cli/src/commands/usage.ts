import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import { answered } from "../admin/answered.ts";
import type { Admin } from "../admin/call.ts";
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
    .description(
      "a workspace's messages of a month, or the billing run: plan, used, tokens and cost of every workspace",
    )
    .option("--workspace <id>", "one workspace: counted, held by turns still open, and its plan's cap")
    .addOption(
      new Option("--all", "every workspace, by id, with the tokens and cost of its calls").conflicts("workspace"),
    )
    .addOption(monthOption())
    .addOption(new Option("--csv", "with --all: CSV as RFC 4180 has it").conflicts("workspace"))
    .action(({ workspace, all = false, month = "", csv = false }) => {
      if (workspace !== undefined) return report(showOne(admin, workspace, month));
      if (!all) throw new CliError("give --workspace W, or --all; see parley usage --help", { exitCode: 2 });
      const shown = (count: number) => progress(`${count} workspaces …`);
      return report(bill(admin, month, shown).then((billing) => billingReport(billing, csv ? "csv" : "table")));
    });
}

function showOne(admin: Admin, workspaceId: string, month: string): Promise<Result> {
  return admin(WorkspaceAdminService, async (service) => {
    const response = await service.showUsage({ workspaceId, month });
    const { plan, cap, used, held, resetsAt, month: shown } = answered(response.usage);
    return {
      json: { plan, cap, used, held, resets_at: resetsAt },
      text: fields([
        ["workspace", workspaceId],
        ["month", shown],
        ["plan", plan],
        ["used", used],
        ["held", held],
        ["cap", cap],
        ["left", Math.max(0, cap - used - held)],
        ["starts anew", resetsAt],
      ]),
    };
  });
}
