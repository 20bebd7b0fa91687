// Separate from the package's main export, which also loads gRPC. Loading gRPC takes three times as long as a migration
// run with nothing to apply.
export { type Knex, type MigrateOptions, type Migration, migrate, revertMigrations } from "./migrate.ts";
export { runMigrations } from "./run-migrations.ts";
export { withoutLockTimeout } from "./without-lock-timeout.ts";
