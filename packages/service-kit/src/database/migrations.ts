// A separate entry point, because the package's main export also loads gRPC. Loading gRPC takes three times as long as
// running the migrations when none is pending.

export { PREFLIGHT_EXIT_CODE } from "../preflight/collect.ts";
export { IDS_PER_SHARD } from "./identity-start.ts";
export { type Knex, migrate, revertMigrations } from "./migrate.ts";
export type { MigrateOptions, Migration } from "./migrate-options.ts";
export { runMigrations } from "./run-migrations.ts";
export { createScramVerifier } from "./scram-verifier.ts";
export { SHARD_CONNECTIONS, urlOfShard } from "./shards.ts";
export { withoutLockTimeout } from "./without-lock-timeout.ts";
