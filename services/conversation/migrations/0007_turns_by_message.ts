import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0007_turns_by_message";

/** CREATE INDEX CONCURRENTLY, which does not block writes, cannot run in a transaction. */
export const config = { transaction: false };

/**
 * Adds an index that finds a turn by its message. Message ids rise in the order of the rows, so a BRIN index suffices. It costs a new turn
 * almost nothing, and a lookup reads a few pages.
 */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_message");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY turns_message ON conversation.turns
      USING brin (message_id) WITH (pages_per_range = 32, autosummarize = on)
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_message"));
}
