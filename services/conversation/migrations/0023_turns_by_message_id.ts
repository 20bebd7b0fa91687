import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0023_turns_by_message_id";

/** CREATE INDEX CONCURRENTLY, which does not block writes, cannot run in a transaction. */
export const config = { transaction: false };

/**
 * Adds an index that finds a turn by its reply's id and keeps the random ids unique within a workspace. It replaces a BRIN index, which works
 * only for ids that rise in the order of the rows.
 */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_message_id");
    await knex.raw(`
      CREATE UNIQUE INDEX CONCURRENTLY turns_message_id ON conversation.turns (workspace_id, message_id)
    `);
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_message");
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_message");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY turns_message ON conversation.turns
      USING brin (message_id) WITH (pages_per_range = 32, autosummarize = on)
    `);
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_message_id");
  });
}
