import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0011_usage_by_month";

/** Traffic continues while the indexes are built. */
export const config = { transaction: false };

/** Adds two indexes: usage_month, to list the months with usage and a month's workspaces; reservations_void, to find old void reservations. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.usage_month");
    await knex.raw("CREATE INDEX CONCURRENTLY usage_month ON quota.usage (month, workspace_id)");
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.reservations_void");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY reservations_void ON quota.reservations (coalesce(settled_at, reserved_at)) WHERE state = 'void'
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.reservations_void");
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.usage_month");
  });
}
