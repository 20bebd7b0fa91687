import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0044_turns_by_unpaid_day";

/** CREATE INDEX CONCURRENTLY, which does not block writes, cannot run in a transaction. */
export const config = { transaction: false };

/** Adds the index that counts the unpaid replies of a day. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_unpaid");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY turns_unpaid ON conversation.turns (unpaid_day, workspace_id) WHERE unpaid_day IS NOT NULL
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_unpaid"));
}
