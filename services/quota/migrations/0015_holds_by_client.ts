import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0015_holds_by_client";

/** Traffic continues while the indexes are built. */
export const config = { transaction: false };

/** Adds two indexes: reservations_client, to count a client's holds; usage_unpaid, to list the workspaces with unpaid replies of a day. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.reservations_client");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY reservations_client ON quota.reservations (workspace_id, client)
      WHERE state = 'held' AND client IS NOT NULL
    `);
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.usage_unpaid");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY usage_unpaid ON quota.usage (unpaid_day, workspace_id) WHERE unpaid_day IS NOT NULL
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.usage_unpaid");
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.reservations_client");
  });
}
