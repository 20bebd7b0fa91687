export { botSlugSql, recordEventSql, recordKnowledgeFailed } from "./record-event.store.ts";
