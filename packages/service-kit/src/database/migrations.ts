// Everything that a migration process loads. The package's main export also loads gRPC, which takes three times as long as a migration
// with nothing to apply.
export { type Knex, type MigrateOptions, type Migration, migrate, revertMigrations } from "./migrate.ts";
export { runMigrations } from "./run-migrations.ts";
export { withoutLockTimeout } from "./without-lock-timeout.ts";
