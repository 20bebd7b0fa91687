import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import { WebhookAdminService, type WebhookEndpoint, WebhookEndpointSchema } from "@parley/rpc/conversation";
import { requireField } from "../../admin/require-field.ts";
import { requireWorkspace } from "../../admin/require-workspace.ts";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import { formatFields, formatTable } from "../../output/table.ts";
import { refuseEmpty, wholeNumberParser, workspaceOption } from "../options.ts";
import { addDeliveryCommands } from "./webhook-deliveries.ts";

const NO_ENDPOINTS = "No webhooks yet. Add one with parley webhook add --workspace W --url URL";
const idArgument = ["<id>", "Select the webhook by its ID.", refuseEmpty] as const;

export function addWebhookCommands(program: CommandUnknownOpts, context: Context): void {
  const { callAdmin, report } = context;
  const group = program.command("webhook").description("Manage and test a workspace's webhooks.");

  group
    .command("add")
    .description("Add an endpoint, and show its secret.")
    .requiredOption(...workspaceOption)
    .requiredOption("--url <url>", "Set the URL that gets the events.", refuseEmpty)
    .option("--types <types>", "Set the event types, separated by commas.", parseTypes)
    .option("--include-content", "Send the messages' texts.")
    .action(({ workspace: workspaceId, url, types, includeContent = false }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          const changes = { url, includeContent, ...(types && { types: { values: types } }) };
          const { endpoint, secret } = await service.createEndpoint({ workspaceId, changes });
          return describeWithSecret(requireField(endpoint), secret);
        }),
      ),
    );

  group
    .command("list")
    .description("List a workspace's webhooks.")
    .requiredOption(...workspaceOption)
    .action(({ workspace: workspaceId }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          const { endpoints } = await service.listEndpoints({ workspaceId });
          if (endpoints.length === 0) await requireWorkspace(callAdmin, workspaceId);
          return {
            json: endpoints.map((each) => messageToJson(WebhookEndpointSchema, each)),
            text: formatTable(
              ["id", "url", "types", "state", "waiting"],
              endpoints.map((each) => [each.id, each.url, typesOf(each), stateOf(each), each.pending]),
              NO_ENDPOINTS,
            ),
          };
        }),
      ),
    );

  group
    .command("show")
    .description("Show a webhook's settings and state.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .action((id, { workspace: workspaceId }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          const { endpoints } = await service.listEndpoints({ workspaceId });
          const endpoint = endpoints.find((each) => each.id === id);
          if (endpoint === undefined)
            throw new CliError("no such webhook endpoint; list webhooks with parley webhook list --workspace W");
          return describeEndpoint(endpoint);
        }),
      ),
    );

  group
    .command("update")
    .description("Change, enable or disable a webhook.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .option("--url <url>", "Set the URL.", refuseEmpty)
    .option("--types <types>", "Set the event types; all for every type.", parseTypes)
    .addOption(new Option("--include-content <on|off>", "Send the messages' texts or not.").choices(["on", "off"]))
    .addOption(new Option("--enable", "Send events again.").conflicts("disable"))
    .option("--disable", "Send no events.")
    .action((id, { workspace: workspaceId, url, types, includeContent, enable, disable }) => {
      const changes = {
        ...(url !== undefined && { url }),
        ...(types && { types: { values: types } }),
        ...(includeContent && { includeContent: includeContent === "on" }),
        ...((enable ?? disable) && { enabled: enable === true }),
      };
      if (Object.keys(changes).length === 0) throw new CliError("give at least one change", { exitCode: 2 });
      return report(
        callAdmin(WebhookAdminService, async (service) => {
          const { endpoint } = await service.updateEndpoint({ workspaceId, id, changes });
          return describeEndpoint(requireField(endpoint));
        }),
      );
    });

  group
    .command("delete")
    .description("Delete a webhook and its deliveries.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .action((id, { workspace: workspaceId }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          await service.deleteEndpoint({ workspaceId, id });
          return { json: { id, deleted: true }, text: `Deleted ${id}.\n` };
        }),
      ),
    );

  group
    .command("rotate-secret")
    .description("Replace a webhook's secret.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .option("--keep-previous <hours>", "Sign with both secrets meanwhile (default: 24).", wholeNumberParser(0, 168))
    .action((id, { workspace: workspaceId, keepPrevious: keepPreviousHours }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          const hours = keepPreviousHours === undefined ? {} : { keepPreviousHours };
          const { endpoint, secret } = await service.rotateSecret({ workspaceId, id, ...hours });
          return describeWithSecret(requireField(endpoint), secret);
        }),
      ),
    );

  addDeliveryCommands(group, context);
}

function parseTypes(text: string): string[] {
  const types = text.split(",").map((each) => each.trim());
  return types.join() === "all" ? [] : types.filter((each) => each !== "");
}

function typesOf({ types }: WebhookEndpoint): string {
  return types.length === 0 ? "all" : types.join(", ");
}

/** Describes whether an endpoint gets events, and why not. */
function stateOf({ disabledReason, failingSince }: WebhookEndpoint): string {
  if (disabledReason === "owner") return "disabled";
  if (disabledReason === "gone") return "disabled: it returned 410";
  if (disabledReason === "failing") return "disabled: it failed for 72 hours";
  return failingSince === "" ? "ok" : `failing since ${failingSince}`;
}

function fieldsOf(endpoint: WebhookEndpoint): [string, string | number][] {
  return [
    ["id", endpoint.id],
    ["workspace", endpoint.workspaceId],
    ["url", endpoint.url],
    ["types", typesOf(endpoint)],
    ["texts", endpoint.includeContent ? "included" : "not included"],
    ["state", stateOf(endpoint)],
    ["last sequence", Number(endpoint.lastSequence)],
    ["waiting", endpoint.pending],
    ["dropped", Number(endpoint.dropped)],
    ...(endpoint.previousSecretExpiresAt === ""
      ? []
      : ([["previous secret", `signs until ${endpoint.previousSecretExpiresAt}`]] as [string, string][])),
  ];
}

function describeEndpoint(endpoint: WebhookEndpoint) {
  return { json: messageToJson(WebhookEndpointSchema, endpoint), text: formatFields(fieldsOf(endpoint)) };
}

function describeWithSecret(endpoint: WebhookEndpoint, secret: string) {
  const { id, workspaceId } = endpoint;
  return {
    json: { ...messageToJson(WebhookEndpointSchema, endpoint), secret },
    text: `${formatFields([...fieldsOf(endpoint), ["secret", `${secret} (shown only now)`]])}Send a test event with parley webhook test ${id} --workspace ${workspaceId}\n`,
  };
}
