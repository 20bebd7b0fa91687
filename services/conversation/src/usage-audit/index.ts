export { type AuditedQuota, auditPage, WORKSPACES_PER_PAGE } from "./usage-audit.service.ts";
