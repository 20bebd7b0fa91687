import { randomUUID } from "node:crypto";
import { type CommandUnknownOpts, InvalidArgumentError, Option } from "@commander-js/extra-typings";
import { type Credit, CreditSchema, WorkspaceAdminService } from "@parley/rpc/quota";
import { requireField } from "../admin/require-field.ts";
import type { Context } from "../context.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatFields, formatTable } from "../output/table.ts";
import { readSystemUserName, storeEntry } from "./operator-entry.ts";
import { parseTime, wholeNumberParser, workspaceOption } from "./options.ts";

const MAX_MESSAGES = 10_000_000;

export function addCreditCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("credit").description("Manage messages beside a workspace's plan.");

  group
    .command("add")
    .description("Give a workspace messages beside its plan.")
    .requiredOption(...workspaceOption)
    .addOption(
      new Option("--messages <count>", "Set the number of messages.")
        .argParser(wholeNumberParser(1, MAX_MESSAGES))
        .makeOptionMandatory(),
    )
    .option("--expires <time>", "End the credit at this UTC time, or never.", parseExpiry, "")
    .requiredOption("--reason <text>", "State the reason.")
    .option("--operator <name>", "Name the person (default: your system user).")
    .option("--request-id <uuid>", "Repeat a command whose result is unknown.")
    .action(({ workspace: workspaceId, messages, expires: expiresAt, reason, ...options }) => {
      const { operator = readSystemUserName(), requestId = randomUUID() } = options;
      const request = { workspaceId, messages, expiresAt, reason, operator, requestId };
      return report(
        storeEntry("credit", requestId, () =>
          callAdmin(WorkspaceAdminService, async (service) =>
            describeCredit(workspaceId, requireField((await service.addCredit(request)).credit)),
          ),
        ),
      );
    });

  group
    .command("list")
    .description("List a workspace's credits, newest first.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) => {
          const { credits } = await service.listCredits({ workspaceId });
          return {
            json: credits.map((each) => messageToJson(CreditSchema, each)),
            text: formatTable(
              ["id", "messages", "used", "held", "left", "expires", "added", "revoked", "operator", "reason"],
              credits.map((each) => [
                ...[each.id, each.messages, each.used, each.held, each.left, each.expiresAt || "never"],
                ...[each.addedAt, each.revokedAt || "–", each.operator, each.reason],
              ]),
              "No credits. Add one with parley credit add --workspace W --messages N --reason R",
            ),
          };
        }),
      ),
    );

  group
    .command("revoke")
    .description("End the use of a credit.")
    .argument("<id>", "Select the credit.")
    .requiredOption(...workspaceOption)
    .action((creditId, { workspace: workspaceId }) =>
      report(
        callAdmin(WorkspaceAdminService, async (service) =>
          describeCredit(workspaceId, requireField((await service.revokeCredit({ workspaceId, creditId })).credit)),
        ),
      ),
    );
}

function describeCredit(workspaceId: string, credit: Credit): Result {
  const { id, messages, used, held, left, expiresAt, addedAt, revokedAt, operator, reason } = credit;
  return {
    json: messageToJson(CreditSchema, credit),
    text: formatFields([
      ["workspace", workspaceId],
      ["id", id],
      ["messages", messages],
      ["used", used],
      ["held", held],
      ["left", left],
      ["expires", expiresAt || "never"],
      ["added", addedAt],
      ["revoked", revokedAt || "–"],
      ["operator", operator],
      ["reason", reason],
    ]),
  };
}

function parseExpiry(text: string): string {
  if (text === "never") return "";
  const time = parseTime(text);
  if (Date.parse(time) <= Date.now()) throw new InvalidArgumentError("It must be in the future.");
  return time;
}
