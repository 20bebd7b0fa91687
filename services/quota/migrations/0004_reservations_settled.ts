import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0004_reservations_settled";

/** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
export const config = { transaction: false };

/** Adds an index for reconciliation, which reads counted turns by settlement time. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.reservations_settled");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY reservations_settled ON quota.reservations (settled_at, workspace_id, turn_id)
      WHERE state = 'done'
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS quota.reservations_settled"));
}
