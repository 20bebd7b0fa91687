import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0007_turns_by_message";

/** Traffic goes on while the index is built. */
export const config = { transaction: false };

/**
 * Finds a turn by its message. Message ids rise as rows are written, so the least and the greatest of a range of pages is all that is
 * kept: next to nothing to write with a turn, and a few pages to read for whoever asks.
 */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // One that was left unfinished is in the way.
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
