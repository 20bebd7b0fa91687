export { LocalPostgresError, type LocalPostgresErrorCode } from "./errors.ts";
export { type LocalPostgres, type LocalPostgresOptions, startLocalPostgres } from "./start.ts";
