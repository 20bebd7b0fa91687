import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0037_word_frequencies";

/** CREATE INDEX CONCURRENTLY lets traffic continue, but cannot run in a transaction. */
export const config = { transaction: false };

/**
 * knowledge_words_frequency finds in how many chunks of a bot a lexeme occurs. The query compares the expression bot_id::text, which only
 * this index contains. If the query compared bot_id itself, PostgreSQL could choose an index that reads all words of the bot.
 * knowledge_words_frequency replaces knowledge_words_lexeme, which only the previous version uses.
 */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.knowledge_words_frequency");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY knowledge_words_frequency
      ON conversation.knowledge_words (workspace_id, (bot_id::text), lexeme, source_id, chunks)
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () =>
    knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.knowledge_words_frequency"),
  );
}
