import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import { type Month, MonthSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import type { Context } from "../../context.ts";
import { messageToJson } from "../../output/json.ts";
import { formatTable } from "../../output/table.ts";

export function addMonthsCommand(usage: CommandUnknownOpts, { callAdmin, report }: Context): void {
  usage
    .command("months")
    .description("List months with their state and usage.")
    .action(() =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          const { months } = await service.listUsageMonths({});
          return {
            json: {
              months: months.map((month) => {
                // ended_seconds, the time since the month's end, would differ from call to call.
                const { ended_seconds: _, ...json } = messageToJson(MonthSchema, month);
                return { ...json, state: stateOf(month) };
              }),
            },
            text: formatTable(
              ["month", "state", "used", "held", "pruned messages", "closed at", "pruned at"],
              months.map((month) => [
                month.month,
                stateOf(month),
                Number(month.used),
                Number(month.held),
                Number(month.pruned),
                month.closedAt || "–",
                month.prunedAt || "–",
              ]),
              "No months yet. A new month is listed within an hour.",
            ),
          };
        }),
      ),
    );
}

function stateOf({ endedSeconds, closedAt, prunedAt }: Month): string {
  if (prunedAt !== "") return "pruned";
  if (closedAt !== "") return "closed";
  // `endedSeconds` is negative until the month ends.
  return endedSeconds < 0 ? "current" : "open";
}
