export {
  botSlugSql,
  isMailedSql,
  recordEventSql,
  recordKnowledgeFailed,
  recordWebhookDisabled,
} from "./record-event.store.ts";
export { createUsageEventsTask, forgetOldUsageEvents } from "./usage-events.worker.ts";
