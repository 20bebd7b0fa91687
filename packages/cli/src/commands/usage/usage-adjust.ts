import { randomUUID } from "node:crypto";
import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { UsageAdjustmentSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import type { CallAdmin } from "../../admin/call.ts";
import { requireField } from "../../admin/require-field.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import type { Result } from "../../output/result.ts";
import { formatFields, formatTable } from "../../output/table.ts";
import { readSystemUserName, storeEntry } from "../operator-entry.ts";
import { monthOption, workspaceOption } from "../options.ts";

export function addAdjustCommands(usage: CommandUnknownOpts, { callAdmin, report }: Context): void {
  usage
    .command("adjust")
    .description("Correct the usage of a month.")
    .option(...workspaceOption)
    .addOption(monthOption("Select the UTC month (required)."))
    .addOption(
      new Option("--by <count>", "Set the messages to add (negative: remove).")
        .argParser(parseAmount)
        .makeOptionMandatory(),
    )
    .requiredOption("--reason <text>", "State the reason.")
    .option("--operator <name>", "Name the person (default: your system user).")
    .option("--request-id <uuid>", "Repeat a correction whose result is unknown.")
    .action(({ by: amount, reason, operator = readSystemUserName(), requestId = randomUUID() }, command) => {
      const { workspaceId, month } = readSharedOptions(command);
      if (month === "") throw new CliError("give --month M; run parley usage adjust --help", { exitCode: 2 });
      return report(adjust(callAdmin, { workspaceId, month, amount, reason, operator, requestId }));
    });

  usage
    .command("adjustments")
    .description("List the corrections of a month.")
    .option(...workspaceOption)
    .addOption(monthOption())
    .action((_options, command) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          const { adjustments } = await service.listAdjustments(readSharedOptions(command));
          return {
            json: adjustments.map((each) => messageToJson(UsageAdjustmentSchema, each)),
            text: formatTable(
              ["time", "month", "by", "operator", "reason", "id"],
              adjustments.map(({ adjustedAt, month, amount, operator, reason, id }) => [
                ...[adjustedAt, month, amount, operator, reason, id],
              ]),
              "No corrections.",
            ),
          };
        }),
      ),
    );
}

/** Reads the options that `usage` also has. Commander assigns their values to `usage`, even if the options follow the subcommand. */
export function readSharedOptions(command: CommandUnknownOpts): { workspaceId: string; month: string } {
  const { workspace, month = "" } = command.optsWithGlobals() as { workspace?: string; month?: string };
  if (workspace === undefined)
    throw new CliError(`give --workspace W; run parley usage ${command.name()} --help`, { exitCode: 2 });
  return { workspaceId: workspace, month };
}

type Adjustment = {
  workspaceId: string;
  month: string;
  amount: number;
  reason: string;
  operator: string;
  requestId: string;
};

function adjust(callAdmin: CallAdmin, request: Adjustment): Promise<Result> {
  return storeEntry("correction", request.requestId, () =>
    callAdmin(WorkspaceAdminService, async (service) => {
      const response = await service.adjustUsage(request);
      const adjustment = requireField(response.adjustment);
      return {
        json: { ...messageToJson(UsageAdjustmentSchema, adjustment), used: response.used },
        text: formatFields([
          ["workspace", request.workspaceId],
          ["month", adjustment.month],
          ["by", adjustment.amount],
          ["used", response.used],
          ["reason", adjustment.reason],
          ["operator", adjustment.operator],
          ["id", adjustment.id],
        ]),
      };
    }),
  );
}

function parseAmount(text: string): number {
  const amount = Number(text);
  if (!/^[+-]?\d{1,7}$/.test(text) || amount === 0) throw new InvalidArgumentError('Write it like "-3" or "5".');
  return amount;
}
