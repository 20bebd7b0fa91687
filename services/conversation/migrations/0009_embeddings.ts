import type { Knex } from "@parley/service-kit";

export const name = "0009_embeddings";

/** Runs without a transaction, so that sources and chunks are not locked at the same time. */
export const config = { transaction: false };

/**
 * knowledge_embeddings  the latest embedding of each chunk, and the model that computed it. The type is real[], because pgvector may be
 *                       installed later or never; queries cast it to vector. No statistics are kept of it, because they would reveal
 *                       content of documents.
 * knowledge_sources
 *   embedding_model     the model of the source's embeddings.
 *   embedding_of        the updated_at of the source when it was embedded. If it differs from updated_at, the service's previous version has
 *                       replaced the source without setting these columns.
 *   embedded            how many of the source's chunks have an embedding.
 *   embedding_until     the end of the lease of the process that embeds the source.
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
