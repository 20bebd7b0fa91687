import type { Knex } from "@parley/service-kit";

export const name = "0054_source_texts";

/**
 * source_texts  the texts of sources as they were added, so that owners can edit them. Sources with a URL and other formats than txt and md have
 *               no row.
 *   text_of     the updated_at of the source when the text was stored. If it differs from updated_at, the service's previous version has replaced
 *               the source.
 *
 * No statistics are kept of the text, because they would reveal content of documents.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.source_texts (
      workspace_id text NOT NULL,
      source_id    bigint NOT NULL,
      text_of      timestamptz NOT NULL,
      content      text NOT NULL,
      PRIMARY KEY (workspace_id, source_id),
      FOREIGN KEY (workspace_id, source_id) REFERENCES conversation.knowledge_sources ON DELETE CASCADE
    );
    ALTER TABLE conversation.source_texts ALTER COLUMN content SET STATISTICS 0
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.source_texts");
}
