export { type AuditedQuota, auditPage } from "./audit.service.ts";
