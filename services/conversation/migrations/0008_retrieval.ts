import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0008_retrieval";

/** Turns search while the index is built. */
export const config = { transaction: false };

/**
 * knowledge_chunks.terms  what a chunk is found by: its words in the language of its source, headings weighing more (A the nearest,
 *                         B those above) and code less (C), and one word that names its bot. The service writes it. `search`, which it
 *                         takes the place of, stays for the version before this one, and for what that one stored.
 * knowledge_words         the words of each source, with what each is brought to by its language and in how many chunks that stands:
 *                         how telling a word is, and which word a misspelt one may stand for.
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
    // One that was left unfinished is in the way.
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
