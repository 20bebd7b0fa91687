export { createEmailAdmin } from "./emails.admin.ts";
export { createEmailCounter, registerEmailGauge } from "./emails.metrics.ts";
export { keepEmails } from "./housekeeping.worker.ts";
export type { EmailSender } from "./sender.worker.ts";
export { createEmails } from "./senders.worker.ts";
export { parseSender, parseSmtpUrl, type Sender } from "./smtp-settings.ts";
