import { setTimeout as sleep } from "node:timers/promises";
import type { CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Client } from "@connectrpc/connect";
import {
  EmailAdminService,
  type EmailMessage,
  EmailMessageSchema,
  type EmailRecipient,
  EmailRecipientSchema,
} from "@parley/rpc/conversation";
import { requireField } from "../admin/require-field.ts";
import { requireWorkspace } from "../admin/require-workspace.ts";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import { messageToJson } from "../output/json.ts";
import type { Result } from "../output/result.ts";
import { formatFields, formatTable } from "../output/table.ts";
import { refuseEmpty, workspaceOption } from "./options.ts";

const NO_RECIPIENTS = "No recipients yet. Add one with parley email add --workspace W --address ADDRESS";
const POLL_MS = 250;
/** A message waits up to a second for its attempt, which takes up to 20 s. */
const TEST_TIMEOUT_MS = 30_000;
const idArgument = ["<id>", "Select the recipient by its ID.", refuseEmpty] as const;

export function addEmailCommands(program: CommandUnknownOpts, { callAdmin, report }: Context): void {
  const group = program.command("email").description("Manage who gets e-mail about a workspace.");

  group
    .command("add")
    .description("Add a recipient.")
    .requiredOption(...workspaceOption)
    .requiredOption("--address <address>", "Set the address.", refuseEmpty)
    .option("--language <language>", "Set the language, such as de (default: en).")
    .action(({ workspace: workspaceId, address, language = "" }) =>
      report(
        callAdmin(EmailAdminService, async (service) => {
          const { recipient } = await service.addRecipient({ workspaceId, address, language });
          return describeRecipient(requireField(recipient));
        }),
      ),
    );

  group
    .command("list")
    .description("List a workspace's recipients and last messages.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        callAdmin(EmailAdminService, async (service) => {
          const { recipients } = await service.listRecipients({ workspaceId });
          if (recipients.length === 0) await requireWorkspace(callAdmin, workspaceId);
          return {
            json: recipients.map((each) => messageToJson(EmailRecipientSchema, each)),
            text: formatTable(
              ["id", "address", "language", "last message", "result"],
              recipients.map((each) => [
                each.id,
                each.address,
                each.language,
                each.lastMessage?.type ?? "–",
                each.lastMessage === undefined ? "–" : resultOf(each.lastMessage),
              ]),
              NO_RECIPIENTS,
            ),
          };
        }),
      ),
    );

  group
    .command("remove")
    .description("Remove a recipient.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .action((id, { workspace: workspaceId }) =>
      report(
        callAdmin(EmailAdminService, async (service) => {
          await service.removeRecipient({ workspaceId, id });
          return { json: { id, removed: true }, text: `Removed ${id}.\n` };
        }),
      ),
    );

  group
    .command("test")
    .description("Send a test message, and show the result.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .action((id, { workspace: workspaceId }) =>
      report(
        callAdmin(EmailAdminService, async (service) => {
          const { eventId } = await service.sendTestEmail({ workspaceId, id });
          return describeTest(await waitForAttempt(service, { workspaceId, id, eventId }));
        }),
      ),
    );
}

/** Waits until the message has been attempted once. */
async function waitForAttempt(
  service: Pick<Client<typeof EmailAdminService>, "listRecipients">,
  { workspaceId, id, eventId }: { workspaceId: string; id: string; eventId: string },
): Promise<EmailMessage> {
  const deadline = performance.now() + TEST_TIMEOUT_MS;
  for (;;) {
    const { recipients } = await service.listRecipients({ workspaceId });
    const last = recipients.find((each) => each.id === id)?.lastMessage;
    if (last?.eventId === eventId && (last.status !== "pending" || last.error !== "")) return last;
    if (performance.now() > deadline)
      throw new CliError(
        `the test message was not sent within ${TEST_TIMEOUT_MS / 1_000} s: it waits behind other messages, or the conversation service sends none`,
      );
    await sleep(POLL_MS);
  }
}

function describeRecipient(recipient: EmailRecipient): Result {
  const { id, workspaceId, address, language } = recipient;
  return {
    json: messageToJson(EmailRecipientSchema, recipient),
    text: `${formatFields([
      ["id", id],
      ["workspace", workspaceId],
      ["address", address],
      ["language", language],
    ])}Send a test message with parley email test ${id} --workspace ${workspaceId}\n`,
  };
}

function describeTest(message: EmailMessage): Result {
  return {
    json: messageToJson(EmailMessageSchema, message),
    text: `${resultOf(message)}\n`,
    exitCode: message.status === "sent" ? 0 : 1,
  };
}

function resultOf({ status, lastAttemptAt, nextAttemptAt, error }: EmailMessage): string {
  if (status === "sent") return `sent at ${lastAttemptAt}`;
  if (status === "held") return "held: the workspace has reached its limit of an hour";
  if (status === "failed") return `failed: ${error}`;
  return error === "" ? "waits" : `next attempt at ${nextAttemptAt}: ${error}`;
}
