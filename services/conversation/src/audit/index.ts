export { type AuditedQuota, auditPage, WORKSPACES_PER_PAGE } from "./audit.service.ts";
