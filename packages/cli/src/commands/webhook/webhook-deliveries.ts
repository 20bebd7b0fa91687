import { setTimeout as sleep } from "node:timers/promises";
import { type CommandUnknownOpts, Option } from "@commander-js/extra-typings";
import type { Client } from "@connectrpc/connect";
import { WebhookAdminService, type WebhookDelivery, WebhookDeliverySchema } from "@parley/rpc/conversation";
import type { Context } from "../../context.ts";
import { CliError } from "../../errors.ts";
import { messageToJson } from "../../output/json.ts";
import type { Result } from "../../output/result.ts";
import { formatCount, formatFields, formatTable } from "../../output/table.ts";
import { refuseEmpty, wholeNumberParser, workspaceOption } from "../options.ts";

const MAX_SEQUENCE = 1_000_000_000_000;
const POLL_MS = 250;
/** An event waits up to a second for its attempt, which takes up to 10 s. */
const TEST_TIMEOUT_MS = 20_000;
const idArgument = ["<id>", "Select the webhook by its ID.", refuseEmpty] as const;

export function addDeliveryCommands(group: CommandUnknownOpts, { callAdmin, report }: Context): void {
  group
    .command("deliveries")
    .description("List a webhook's last events and responses.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .addOption(
      new Option("--status <status>", "List only these.").choices(["pending", "delivered", "failed"]).default(""),
    )
    .option("--limit <n>", "Set the maximum number.", wholeNumberParser(1, 500), 50)
    .action((id, { workspace: workspaceId, status, limit: pageSize }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          const { deliveries } = await service.listDeliveries({ workspaceId, id, status, pageSize });
          return {
            json: deliveries.map((each) => messageToJson(WebhookDeliverySchema, each)),
            text: formatTable(
              ["sequence", "type", "status", "attempts", "last attempt", "response", "body"],
              deliveries.map((each) => [
                Number(each.sequence),
                each.type,
                each.status,
                each.attemptedAt.length,
                each.attemptedAt.at(-1) ?? "–",
                responseOf(each),
                each.responseBody,
              ]),
              "No deliveries. Send a test event with parley webhook test ID --workspace W",
            ),
          };
        }),
      ),
    );

  group
    .command("redeliver")
    .description("Send one event or a range again.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .requiredOption("--sequence <n>", "Select the first event.", wholeNumberParser(1, MAX_SEQUENCE))
    .option("--to <n>", "Select the last event (default: the first).", wholeNumberParser(1, MAX_SEQUENCE))
    .action((id, { workspace: workspaceId, sequence, to = sequence }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          const range = { fromSequence: BigInt(sequence), toSequence: BigInt(to) };
          const { queued } = await service.redeliver({ workspaceId, id, ...range });
          return { json: { id, queued }, text: `Queued ${formatCount(queued, "event")}.\n` };
        }),
      ),
    );

  group
    .command("test")
    .description("Send a test event, and show the response.")
    .argument(...idArgument)
    .requiredOption(...workspaceOption)
    .action((id, { workspace: workspaceId }) =>
      report(
        callAdmin(WebhookAdminService, async (service) => {
          const { sequence } = await service.sendTestEvent({ workspaceId, id });
          return describeTest(await waitForAttempt(service, { workspaceId, id, sequence }), { workspaceId, id });
        }),
      ),
    );
}

type EndpointFields = { workspaceId: string; id: string };

/** Waits until the event has been attempted once. */
async function waitForAttempt(
  service: Pick<Client<typeof WebhookAdminService>, "listDeliveries">,
  { sequence, ...endpoint }: EndpointFields & { sequence: bigint },
): Promise<WebhookDelivery> {
  const deadline = performance.now() + TEST_TIMEOUT_MS;
  for (;;) {
    const { deliveries } = await service.listDeliveries(endpoint);
    const delivery = deliveries.find((each) => each.sequence === sequence);
    if (delivery !== undefined && delivery.attemptedAt.length > 0) return delivery;
    if (performance.now() > deadline)
      throw new CliError(
        `the test event ${sequence} was not sent within ${TEST_TIMEOUT_MS / 1_000} s: it waits behind other events, or the conversation service does not dispatch them`,
      );
    await sleep(POLL_MS);
  }
}

function describeTest(delivery: WebhookDelivery, { workspaceId, id }: EndpointFields): Result {
  const { sequence, responseBody, durationMs, status, nextAttemptAt } = delivery;
  const isDelivered = status === "delivered";
  const next = nextAttemptAt === "" ? [] : [["next attempt", nextAttemptAt] as const];
  const fields = formatFields([
    ["sequence", Number(sequence)],
    ["status", isDelivered ? "delivered" : "the receiver did not accept the event"],
    ["response", responseOf(delivery)],
    ...(responseBody === "" ? [] : [["body", responseBody] as const]),
    ["took", `${durationMs} ms`],
    ...next,
  ]);
  const hint = `After you have fixed the receiver, send the event again with parley webhook redeliver ${id} --workspace ${workspaceId} --sequence ${sequence}\n`;
  return {
    json: messageToJson(WebhookDeliverySchema, delivery),
    text: isDelivered ? fields : `${fields}${hint}`,
    exitCode: isDelivered ? 0 : 1,
  };
}

/** Describes the last response, or why there was none. */
function responseOf({ responseStatus, error }: WebhookDelivery): string {
  if (responseStatus === 0) return error || "–";
  return error === "" ? `status ${responseStatus}` : `status ${responseStatus}: ${error}`;
}
