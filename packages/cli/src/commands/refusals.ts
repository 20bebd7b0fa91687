import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { RefusalAdminService, RefusalSchema } from "@parley/rpc/edge";
import type { Context } from "../context.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatTable } from "../output/table.ts";
import { parseSince, workspaceOption } from "./options.ts";

export function addRefusalsCommand(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  program
    .command("refusals")
    .description("List refused requests, newest first.")
    .option(...workspaceOption)
    .addOption(new Option("--unknown", "List refusals without a known workspace.").conflicts("workspace"))
    .option("--since <time>", "Start at this time, or this long ago.", parseSince, parseSince("1h"))
    .action(({ workspace, unknown, since }, command) => {
      if (workspace === undefined && !unknown)
        command.error("required option '--workspace <id>' or '--unknown' not specified");
      const list = async (): Promise<Result> => {
        const { refusals } = await callAdmin(RefusalAdminService, (service) =>
          service.listRefusals({ workspaceId: workspace ?? "", since }),
        );
        return {
          json: refusals.map((each) => messageToJson(RefusalSchema, each)),
          text: formatTable(
            ["time", "code", "status", "reason", "request", "key", "client"],
            refusals.map((each) => [
              each.refusedAt,
              each.code,
              // A text, because the table writes numbers with separators and to the right.
              String(each.status),
              each.reason || "–",
              each.requestId,
              each.keySuffix === "" ? "–" : `…${each.keySuffix}`,
              each.client,
            ]),
            `No refusals since ${since}`,
          ),
        };
      };
      return report(list());
    });
}
