export { createAttemptQueue, WebhookDispatcher } from "./dispatcher.worker.ts";
export { keepWebhooks } from "./housekeeping.worker.ts";
export { parseEncryptionKeys, SecretBox } from "./secret-box.ts";
export { sendWebhook, type WebhookRequest } from "./send-webhook.client.ts";
export { createWebhookAdmin } from "./webhooks.admin.ts";
export { createDeliveryCounter, registerWebhookGauges } from "./webhooks.metrics.ts";
