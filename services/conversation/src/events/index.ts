export { botSlugSql, recordEventSql, recordKnowledgeFailed } from "./record-event.store.ts";
export { forgetUsageEvents } from "./usage-events.store.ts";
export { createUsageEventsTask } from "./usage-events.worker.ts";
