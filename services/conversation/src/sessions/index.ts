export { eraseSession } from "./erase-session.store.ts";
export { ExportPacer, type RunStatement } from "./export-pacer.ts";
export { type ExportedMessage, joinMessageJson, openTranscript } from "./export-session.store.ts";
export type { OwnerReadPool } from "./owner-read-pool.ts";
export {
  type ContactMessage,
  EXPORTED_SESSION_FIELDS,
  formatTimeSql,
  hasHadVisitorSql,
  IS_LISTED,
  microsecondsSql,
  OWNER_MESSAGE_FIELDS,
  RATING,
  REVIEW,
  toContactMessage,
  visitorHashSql,
  visitorSessionsSql,
} from "./session-fields.store.ts";
export { requireSessionFilters, type SessionFilters } from "./session-filters.ts";
export { sessionNotFound } from "./session-not-found.ts";
export { formatPosition, parsePosition, type SessionPosition, toTimestamp } from "./session-position.ts";
export {
  hasConsent,
  mayUseSessionSql,
  type RequestVisitor,
  refusesTurn,
  type SessionRequest,
} from "./session-visitor.store.ts";
export { findSession } from "./sessions.store.ts";
export { refuseVisitorMismatch } from "./visitor-mismatch.service.ts";
