import type { Knex } from "@parley/service-kit";

export const name = "0002_knowledge";

/**
 * knowledge_sources  one row per document.
 * knowledge_chunks   the documents' chunks. The search vector also has a lexeme with the bot's id, so that an index scan reads only the
 *                    bot's own chunks. The language is of type text, because pg_upgrade refuses columns of type regconfig.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.knowledge_sources (
      workspace_id text NOT NULL,
      source_id    bigint GENERATED ALWAYS AS IDENTITY,
      bot_id       uuid NOT NULL,
      name         text NOT NULL,
      format       text NOT NULL CHECK (format IN ('txt', 'md', 'html')),
      characters   integer NOT NULL,
      chunks       integer NOT NULL,
      updated_at   timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, source_id),
      UNIQUE (workspace_id, bot_id, name),
      FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
    );

    CREATE TABLE conversation.knowledge_chunks (
      workspace_id text NOT NULL,
      chunk_id     bigint GENERATED ALWAYS AS IDENTITY,
      bot_id       uuid NOT NULL,
      source_id    bigint NOT NULL,
      position     integer NOT NULL,
      heading      text NOT NULL,
      content      text NOT NULL,
      language     text NOT NULL DEFAULT 'english' CHECK (language IN ('english', 'simple')),
      search       tsvector NOT NULL GENERATED ALWAYS AS (
        array_to_tsvector(ARRAY['bot:' || bot_id::text])
        || CASE language
             WHEN 'english' THEN setweight(to_tsvector('pg_catalog.english', heading), 'A') || to_tsvector('pg_catalog.english', content)
             ELSE setweight(to_tsvector('pg_catalog.simple', heading), 'A') || to_tsvector('pg_catalog.simple', content)
           END
      ) STORED,
      PRIMARY KEY (workspace_id, chunk_id),
      FOREIGN KEY (workspace_id, source_id) REFERENCES conversation.knowledge_sources ON DELETE CASCADE
    );
    CREATE INDEX knowledge_chunks_source ON conversation.knowledge_chunks (workspace_id, source_id);
    CREATE INDEX knowledge_chunks_search ON conversation.knowledge_chunks USING gin (search);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.knowledge_chunks, conversation.knowledge_sources");
}
