import {
  type AuditLog,
  type Database,
  type Egress,
  type Lifecycle,
  type Logger,
  openSecret,
  type Registry,
  type SecretOptions,
  type SecretSource,
} from "@parley/service-kit";
import { createGuardedSender } from "@parley/service-kit/egress";
import { createAttemptQueue, WebhookDispatcher } from "./dispatcher.worker.ts";
import { SecretBox } from "./secret-box.ts";
import { sendWebhook, type WebhookRequest } from "./send-webhook.client.ts";
import { createDeliveryCounter } from "./webhooks.metrics.ts";

type WebhookSettings = {
  /** If undefined, webhooks are off. */
  encryptionKeys: SecretSource<string[]> | undefined;
  egress: Egress;
};

type WebhooksDeps = {
  registry: Registry;
  auditLog: AuditLog;
  log: Logger;
  lifecycle: Lifecycle;
  secretOptions: SecretOptions;
};

/** Creates what the dispatchers of all shards share. */
export function createWebhooks(
  { encryptionKeys, egress }: WebhookSettings,
  { registry, auditLog, log, lifecycle, secretOptions }: WebhooksDeps,
) {
  const keys = encryptionKeys && openSecret(encryptionKeys, secretOptions);
  const secretBox = new SecretBox(() => keys?.current() ?? []);
  const sender = createGuardedSender(egress);
  lifecycle.onClose("webhook connections", () => sender.close());
  const shared = {
    secretBox,
    send: (request: WebhookRequest) => sendWebhook({ sender, log }, request),
    attempts: createAttemptQueue(),
    auditLog,
    metrics: { deliveries: createDeliveryCounter(registry) },
    log,
  };
  return { secretBox, createDispatcher: (database: Database) => new WebhookDispatcher({ ...shared, database }) };
}
