export { botSlugSql, recordEventSql, recordKnowledgeFailed } from "./record-event.store.ts";
export { createUsageEventsTask, forgetOldUsageEvents } from "./usage-events.worker.ts";
