import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0008_retrieval";

/** CREATE INDEX CONCURRENTLY, which does not block traffic, cannot run in a transaction. */
export const config = { transaction: false };

/**
 * knowledge_chunks.terms  the search vector of a chunk: its words, stemmed in the language of its source, and a lexeme that names its bot.
 *                         The weight label of a word is A in the nearest heading, B in an outer heading, C in code and D in the text.
 *                         The service writes `terms`, which replaces the generated column `search`. That column stays, because the
 *                         previous release searches it, and chunks that the previous release stores have no `terms`.
 * knowledge_words         the distinct words of each source, each with its lexeme and the number of the source's chunks that contain
 *                         the lexeme. A search uses them to weight rare words more and to correct misspelt words.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.knowledge_sources
      ADD COLUMN IF NOT EXISTS language text NOT NULL DEFAULT 'english',
      ADD COLUMN IF NOT EXISTS url text NOT NULL DEFAULT '',
      DROP CONSTRAINT IF EXISTS knowledge_sources_format_check,
      ADD CONSTRAINT knowledge_sources_format_check CHECK (format IN ('txt', 'md', 'html', 'pdf')) NOT VALID
  `);
  await knex.raw("ALTER TABLE conversation.knowledge_chunks ADD COLUMN IF NOT EXISTS terms tsvector");
  await knex.raw(`
    CREATE TABLE IF NOT EXISTS conversation.knowledge_words (
      workspace_id text NOT NULL,
      bot_id       uuid NOT NULL,
      source_id    bigint NOT NULL,
      word         text COLLATE "C" NOT NULL,
      lexeme       text COLLATE "C" NOT NULL,
      chunks       integer NOT NULL,
      PRIMARY KEY (workspace_id, source_id, word, lexeme),
      FOREIGN KEY (workspace_id, source_id) REFERENCES conversation.knowledge_sources ON DELETE CASCADE
    );
    CREATE INDEX IF NOT EXISTS knowledge_words_lexeme ON conversation.knowledge_words (workspace_id, bot_id, lexeme, source_id, chunks);
    CREATE INDEX IF NOT EXISTS knowledge_words_beginning ON conversation.knowledge_words (workspace_id, bot_id, word);
    CREATE INDEX IF NOT EXISTS knowledge_words_end ON conversation.knowledge_words (workspace_id, bot_id, reverse(word));
  `);
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.knowledge_chunks_terms");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY knowledge_chunks_terms ON conversation.knowledge_chunks USING gin ((coalesce(terms, search)))
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () =>
    knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.knowledge_chunks_terms"),
  );
  await knex.raw("DROP TABLE IF EXISTS conversation.knowledge_words");
  await knex.raw("ALTER TABLE conversation.knowledge_chunks DROP COLUMN IF EXISTS terms");
  await knex.raw("DELETE FROM conversation.knowledge_sources WHERE format = 'pdf'");
  await knex.raw(`
    ALTER TABLE conversation.knowledge_sources
      DROP CONSTRAINT IF EXISTS knowledge_sources_format_check,
      ADD CONSTRAINT knowledge_sources_format_check CHECK (format IN ('txt', 'md', 'html')) NOT VALID,
      DROP COLUMN IF EXISTS language,
      DROP COLUMN IF EXISTS url
  `);
}
