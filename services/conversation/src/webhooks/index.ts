export type { WebhookDispatcher } from "./dispatcher.worker.ts";
export { createWebhooks } from "./dispatchers.worker.ts";
export { keepWebhooks } from "./housekeeping.worker.ts";
export { retrySeconds } from "./retry-schedule.ts";
export { parseEncryptionKeys, SecretBox } from "./secret-box.ts";
export { createWebhookAdmin } from "./webhooks.admin.ts";
export { createDeliveryCounter, registerWebhookGauges } from "./webhooks.metrics.ts";
