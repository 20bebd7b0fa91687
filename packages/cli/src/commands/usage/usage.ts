import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { type MonthlyUsage, type UsageEvent, UsageEventSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import type { CallAdmin } from "../../admin/call.ts";
import { requireField } from "../../admin/require-field.ts";
import { runBilling, SORT_KEYS } from "../../billing/billing.ts";
import { reportBilling } from "../../billing/report.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import type { Result } from "../../output/result.ts";
import { formatCount, formatFields, formatTable } from "../../output/table.ts";
import { monthOption, refuseEmpty, wholeNumberParser, workspaceOption } from "../options.ts";
import { addAdjustCommands, readSharedOptions } from "./usage-adjust.ts";
import { addMonthsCommand } from "./usage-months.ts";

const MAX_LIMIT = 10_000;

export function addUsageCommand(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report, progress } = context;
  const usage = program
    .command("usage")
    .description("Show the usage of one or all workspaces.")
    .option("--workspace <id>", "Show the usage of one workspace.", refuseEmpty)
    .addOption(new Option("--all", "Show every workspace's usage, tokens and cost.").conflicts("workspace"))
    .addOption(monthOption())
    .addOption(new Option("--csv", "With --all, write CSV (RFC 4180).").conflicts("workspace"))
    .addOption(new Option("--sort <key>", "With --all, the highest first.").choices(SORT_KEYS).conflicts("workspace"))
    .addOption(
      new Option("--near-cap", "Show the workspaces nearest to their cap.").conflicts([
        ...["workspace", "all", "month", "csv", "sort"],
      ]),
    )
    .addOption(
      new Option("--limit <count>", "Limit the number of workspaces.")
        .argParser(wholeNumberParser(1, MAX_LIMIT))
        .conflicts("workspace"),
    )
    .action(({ workspace, all = false, month = "", csv = false, sort, nearCap = false, limit }) => {
      if (workspace !== undefined) return report(showUsage(callAdmin, workspace, month));
      if (nearCap) return report(showNearestCap(callAdmin, limit));
      if (!all) throw new CliError("give --workspace W, --all or --near-cap; run parley usage --help", { exitCode: 2 });
      if (sort === "growth" && month !== "")
        throw new CliError("--sort growth compares the last 14 days: omit --month", { exitCode: 2 });
      const reportProgress = (count: number) => progress(`${formatCount(count, "workspace")} …`);
      return report(
        runBilling(callAdmin, { month, sort, limit }, reportProgress).then((billing) =>
          reportBilling(billing, csv ? "csv" : "table"),
        ),
      );
    });
  usage
    .command("reset-unpaid")
    .description("Forgive today's unpaid replies.")
    .option(...workspaceOption)
    .action((_options, command) => report(resetUnpaid(callAdmin, readSharedOptions(command).workspaceId)));
  addAdjustCommands(usage, context);
  addMonthsCommand(usage, context);
}

function showUsage(callAdmin: CallAdmin, workspaceId: string, month: string): Promise<Result> {
  return callAdmin(WorkspaceAdminService, async (service) => {
    const response = await service.showUsage({ workspaceId, month });
    const { json, text } = describeUsage(workspaceId, requireField(response.usage));
    const { thresholds, events } = response;
    return {
      json: { ...(json as object), thresholds, events: events.map((each) => messageToJson(UsageEventSchema, each)) },
      text: events.length === 0 ? text : `${text}\n${formatEvents(events)}`,
    };
  });
}

function formatEvents(events: readonly UsageEvent[]): string {
  return formatTable(
    ["time", "event", "threshold", "used", "cap"],
    events.map(({ occurredAt, type, threshold, used, cap }) => [
      ...[occurredAt, type, threshold === 0 ? "–" : `${threshold} %`, used, cap],
    ]),
    "No events.",
  );
}

async function showNearestCap(callAdmin: CallAdmin, limit = 0): Promise<Result> {
  const { workspaces } = await callAdmin(WorkspaceAdminService, (service) => service.listNearestCap({ limit }));
  return {
    json: workspaces.map(({ workspaceId, name, plan, used, held, cap }) => ({
      ...{ id: workspaceId, name, plan, used, held, cap },
    })),
    text: formatTable(
      ["workspace", "name", "plan", "used", "held", "cap", "share"],
      workspaces.map(({ workspaceId, name, plan, used, held, cap }) => [
        ...[workspaceId, name, plan, used, held, cap],
        `${Math.floor((100 * (used + held)) / cap)} %`,
      ]),
      "No messages this month.",
    ),
  };
}

function resetUnpaid(callAdmin: CallAdmin, workspaceId: string): Promise<Result> {
  return callAdmin(WorkspaceAdminService, async (service) => {
    const response = await service.resetUnpaid({ workspaceId });
    return describeUsage(workspaceId, requireField(response.usage));
  });
}

function describeUsage(workspaceId: string, usage: MonthlyUsage): Result {
  const { plan, cap, used, held, adjusted, resetsAt, month, unpaid, unpaidLimit } = usage;
  const { creditUsed, creditLeft, overageUsed, overageCap } = usage;
  const planUsed = used - creditUsed - overageUsed;
  return {
    json: {
      ...{ plan, cap, used, held, adjusted, credit_used: creditUsed, credit_left: creditLeft },
      ...{ overage_used: overageUsed, overage_cap: overageCap },
      ...{ unpaid, unpaid_limit: unpaidLimit, resets_at: resetsAt },
    },
    text: formatFields([
      ["workspace", workspaceId],
      ["month", month],
      ["plan", plan],
      ["used", used],
      ["of which adjusted", adjusted],
      ["held", held],
      ["cap", cap],
      ["charged to the plan", planUsed],
      ["charged to credits", `${creditUsed}, ${creditLeft} left`],
      ["overage", `${overageUsed} of ${overageCap}`],
      ["remaining", Math.max(0, cap - planUsed - held)],
      ["unpaid today", `${unpaid} of ${unpaidLimit}`],
      ["resets at", resetsAt],
    ]),
  };
}
