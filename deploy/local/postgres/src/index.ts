export { LocalPostgresError, type LocalPostgresErrorCode } from "./errors.ts";
export { processExists } from "./postmaster.ts";
export { removeLocalPostgres } from "./remove.ts";
export { type LocalPostgres, type LocalPostgresOptions, startLocalPostgres } from "./start.ts";
