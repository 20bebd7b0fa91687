import type { Knex } from "@parley/service-kit";

export const name = "0009_embeddings";

/** Sources and chunks, one after the other. */
export const config = { transaction: false };

/**
 * knowledge_embeddings  a chunk as a vector, by the model that made it: the latest only. Numbers and no type of pgvector's, which may come
 *                       to this database later, or never; they are cast where they are compared. No statistics are kept of them: those would
 *                       hold some of what documents mean.
 * knowledge_sources     which model its chunks were embedded with (embedding_model), which version of it (embedding_of is that one's
 *                       updated_at), how many were (embedded), and until when whoever is at it has it to itself (embedding_until). The version
 *                       before this one replaces a source and knows of none of that: embedding_of tells.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.knowledge_sources
      ADD COLUMN IF NOT EXISTS embedding_model text NOT NULL DEFAULT '',
      ADD COLUMN IF NOT EXISTS embedding_of timestamptz,
      ADD COLUMN IF NOT EXISTS embedded integer NOT NULL DEFAULT 0,
      ADD COLUMN IF NOT EXISTS embedding_until timestamptz NOT NULL DEFAULT '-infinity'
  `);
  await knex.raw(`
    CREATE TABLE IF NOT EXISTS conversation.knowledge_embeddings (
      workspace_id text NOT NULL,
      bot_id       uuid NOT NULL,
      chunk_id     bigint NOT NULL,
      model        text NOT NULL,
      embedding    real[] NOT NULL,
      PRIMARY KEY (workspace_id, chunk_id),
      FOREIGN KEY (workspace_id, chunk_id) REFERENCES conversation.knowledge_chunks ON DELETE CASCADE
    );
    ALTER TABLE conversation.knowledge_embeddings
      ALTER COLUMN embedding SET STATISTICS 0,
      ALTER COLUMN embedding SET STORAGE EXTERNAL;
    CREATE INDEX IF NOT EXISTS knowledge_embeddings_bot ON conversation.knowledge_embeddings (workspace_id, bot_id, model);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE IF EXISTS conversation.knowledge_embeddings");
  await knex.raw(`
    ALTER TABLE conversation.knowledge_sources
      DROP COLUMN IF EXISTS embedding_model,
      DROP COLUMN IF EXISTS embedding_of,
      DROP COLUMN IF EXISTS embedded,
      DROP COLUMN IF EXISTS embedding_until
  `);
}
