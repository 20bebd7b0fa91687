import { randomUUID } from "node:crypto";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import type { RpcClient } from "@parley/rpc";
import type {
  WebhookAdminService,
  WebhookDeliverySchema,
  WebhookEndpointChanges,
  WebhookEndpointSchema,
} from "@parley/rpc/conversation";
import type { QuotaService } from "@parley/rpc/quota";
import {
  createPageTokens,
  cutPage,
  type Database,
  type EgressPolicy,
  invalidArgument,
  isUuid,
  isWorkspaceId,
  notFound,
  ServiceError,
} from "@parley/service-kit";
import { type Delivery, type DeliveryFilter, listDeliveries, queueTestEvent, redeliver } from "./deliveries.store.ts";
import {
  deleteEndpoint,
  type Endpoint,
  type EndpointChanges,
  findEndpoint,
  insertEndpoint,
  listEndpoints,
  replaceSecret,
  updateEndpoint,
} from "./endpoints.store.ts";
import { createWebhookSecret, type SecretBox } from "./secret-box.ts";
import { ATTEMPT_ERRORS, type EndpointRef, MAX_ENDPOINTS } from "./webhook.ts";
import { requireWebhookUrl } from "./webhook-url.ts";

const GET_WORKSPACE_TIMEOUT_MS = 5_000;
const DEFAULT_DELIVERIES = 50;
const DEFAULT_KEEP_PREVIOUS_HOURS = 24;
const MAX_REDELIVERED = 1_000;
const pageTokens = createPageTokens({ sequence: (text) => /^\d{1,15}$/.test(text) });

export type WebhookAdminDeps = {
  database: Database;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  egressPolicy: EgressPolicy;
  secretBox: SecretBox;
};

export function createWebhookAdmin({
  database,
  quota,
  egressPolicy,
  secretBox,
}: WebhookAdminDeps): ServiceImpl<typeof WebhookAdminService> {
  const requireEndpoint = async (request: { workspaceId: string; id: string }) =>
    requireFound(await findEndpoint(database, requireRef(request)));
  const toChanges = (changes: WebhookEndpointChanges | undefined): EndpointChanges => ({
    url: changes?.url === undefined ? undefined : requireWebhookUrl(changes.url, egressPolicy),
    types: changes?.types && [...new Set(changes.types.values)],
    includeContent: changes?.includeContent,
    enabled: changes?.enabled,
  });
  return {
    async createEndpoint({ workspaceId, changes }) {
      requireAvailable(secretBox);
      const settings = toChanges(changes);
      if (settings.url === undefined) throw invalidArgument("changes.url must be set");
      // Throws workspace_not_found for an unknown workspace.
      await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS, waitForReady: true });
      const ref = { workspaceId, endpointId: randomUUID() };
      const secret = createWebhookSecret();
      const endpoint = await insertEndpoint(database, ref, settings, secretBox.encrypt(secret, ref));
      if (endpoint === undefined)
        throw new ServiceError(
          "resource_exhausted",
          "too_many_webhooks",
          `a workspace has at most ${MAX_ENDPOINTS} webhook endpoints`,
        );
      return { endpoint: toEndpoint(endpoint), secret };
    },
    async listEndpoints({ workspaceId }) {
      return {
        endpoints: isWorkspaceId(workspaceId) ? (await listEndpoints(database, workspaceId)).map(toEndpoint) : [],
      };
    },
    async updateEndpoint(request) {
      const ref = requireRef(request);
      return { endpoint: toEndpoint(requireFound(await updateEndpoint(database, ref, toChanges(request.changes)))) };
    },
    async deleteEndpoint(request) {
      if (!(await deleteEndpoint(database, requireRef(request)))) throw endpointNotFound();
      return {};
    },
    async rotateSecret({ keepPreviousHours = DEFAULT_KEEP_PREVIOUS_HOURS, ...request }) {
      requireAvailable(secretBox);
      const ref = requireRef(request);
      const secret = createWebhookSecret();
      const encrypted = secretBox.encrypt(secret, ref);
      return {
        endpoint: toEndpoint(requireFound(await replaceSecret(database, ref, encrypted, keepPreviousHours))),
        secret,
      };
    },
    async listDeliveries(request) {
      const size = request.pageSize || DEFAULT_DELIVERIES;
      const before = pageTokens.parse(request.pageToken)?.sequence;
      const ref = refOf(await requireEndpoint(request));
      // The rules of the proto permit no other status.
      const status = request.status as DeliveryFilter;
      const { page, last } = cutPage(await listDeliveries(database, ref, { status, before, limit: size + 1 }), size);
      return { deliveries: page.map(toDelivery), nextPageToken: pageTokens.format(last) };
    },
    async redeliver(request) {
      const [from, to] = [Number(request.fromSequence), Number(request.toSequence)];
      if (from < 1 || to < from || to - from >= MAX_REDELIVERED)
        throw invalidArgument(`give a range of 1 to ${MAX_REDELIVERED.toLocaleString("en-US")} sequence numbers`);
      const ref = refOf(requireEnabled(await requireEndpoint(request)));
      const queued = await redeliver(database, ref, { from, to });
      if (queued === 0) throw notFound("delivery_not_found", "the endpoint has no such delivery");
      return { queued };
    },
    async sendTestEvent(request) {
      requireAvailable(secretBox);
      const ref = refOf(requireEnabled(await requireEndpoint(request)));
      const sequence = await queueTestEvent(database, ref);
      if (sequence === undefined) throw endpointNotFound();
      return { sequence: BigInt(sequence) };
    },
  };
}

function requireRef({ workspaceId, id }: { workspaceId: string; id: string }): EndpointRef {
  if (!isWorkspaceId(workspaceId) || !isUuid(id)) throw endpointNotFound();
  return { workspaceId, endpointId: id };
}

function refOf({ workspaceId, endpointId }: Endpoint): EndpointRef {
  return { workspaceId, endpointId };
}

function requireFound(endpoint: Endpoint | undefined): Endpoint {
  if (endpoint === undefined) throw endpointNotFound();
  return endpoint;
}

function requireEnabled(endpoint: Endpoint): Endpoint {
  if (endpoint.disabledReason === null) return endpoint;
  throw new ServiceError("failed_precondition", "webhook_disabled", "the endpoint is disabled: enable it first");
}

function requireAvailable(secretBox: SecretBox): void {
  if (secretBox.isAvailable) return;
  throw new ServiceError(
    "failed_precondition",
    "webhooks_off",
    "webhooks are off: the operator must set ENCRYPTION_KEY of the conversation service",
  );
}

function endpointNotFound(): ServiceError {
  return notFound("webhook_not_found", "no such webhook endpoint");
}

const toText = (time: Date | null) => time?.toISOString() ?? "";

function toEndpoint(endpoint: Endpoint): MessageInitShape<typeof WebhookEndpointSchema> {
  const {
    endpointId: id,
    disabledReason,
    failingSince,
    lastSequence,
    dropped,
    previousExpiresAt,
    createdAt,
    ...rest
  } = endpoint;
  return {
    ...rest,
    id,
    disabledReason: disabledReason ?? "",
    failingSince: toText(failingSince),
    lastSequence: BigInt(lastSequence),
    dropped: BigInt(dropped),
    previousSecretExpiresAt: toText(previousExpiresAt),
    createdAt: createdAt.toISOString(),
  };
}

function toDelivery(delivery: Delivery): MessageInitShape<typeof WebhookDeliverySchema> {
  const { sequence, eventId, type, status, occurredAt, attemptedAt, nextAttemptAt } = delivery;
  return {
    ...{ sequence: BigInt(sequence), eventId, type, status },
    occurredAt: occurredAt.toISOString(),
    attemptedAt: attemptedAt.map((time) => time.toISOString()),
    nextAttemptAt: toText(nextAttemptAt),
    responseStatus: delivery.responseStatus ?? 0,
    responseBody: delivery.responseBody ?? "",
    error: delivery.error === null ? "" : ATTEMPT_ERRORS[delivery.error],
    errorCode: delivery.error ?? "",
    durationMs: delivery.durationMs ?? 0,
  };
}
