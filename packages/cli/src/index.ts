export { AdminError, type CallAdmin, createAdminCaller } from "./admin/call.ts";
export type { ServiceWithAdmin } from "./admin/service.ts";
export { localTarget, START_COMMAND } from "./admin/target.ts";
export { listAllSources } from "./commands/knowledge/knowledge.ts";
export { pickSystemVariables } from "./config.ts";
export { CliError } from "./errors.ts";
export { type FileLock, tryLockFile } from "./local/file-lock.ts";
export {
  type Instance,
  type IssuerSettings,
  readInstance,
  removeInstance,
  writeInstance,
} from "./local/instance.ts";
export { DEVELOPMENT_ROLE_ENV, ensureIssuer } from "./local/issuer.ts";
export { MIGRATED_SERVICES, type MigratedService, migrateService, NODE_FLAGS } from "./local/migrate-service.ts";
export { processExists } from "./local/process-exists.ts";
export { printable } from "./output/printable.ts";
export { formatCount } from "./output/table.ts";
