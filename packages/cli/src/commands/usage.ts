import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { WorkspaceAdminService } from "@parley/rpc/quota";
import { answered } from "../admin/answered.ts";
import type { Context } from "../context.ts";
import { fields } from "../output/table.ts";
import { monthOption, workspaceOption } from "./options.ts";

export function addUsageCommand(program: CommandUnknownOpts, { admin, report }: Context): void {
  program
    .command("usage")
    .description("a workspace's messages of a month: counted, held by turns still open, and its plan's cap")
    .requiredOption(...workspaceOption)
    .addOption(monthOption())
    .action(({ workspace: workspaceId, month = "" }) =>
      report(
        admin(WorkspaceAdminService, async (service) => {
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
        }),
      ),
    );
}
