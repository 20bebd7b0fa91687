import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0011_turns_by_close";

/** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
export const config = { transaction: false };

/** Creates the index for the reconciliation, which reads done turns in the order in which they were closed. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_done_closed");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY turns_done_closed ON conversation.turns (closed_at, workspace_id, turn_id)
      WHERE status = 'done'
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_done_closed"));
}
