import type { Knex } from "@parley/service-kit";

export const name = "0057_bot_logos";

/**
 * bot_logos  the uploaded logos of bots. They are looked up by the SHA-256 of their content alone, without the workspace, because everybody may load
 *            them.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.bot_logos (
      workspace_id text NOT NULL,
      bot_id       uuid NOT NULL,
      hash         text NOT NULL,
      content_type text NOT NULL,
      content      bytea NOT NULL,
      created_at   timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (workspace_id, bot_id, hash),
      FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots ON DELETE CASCADE
    );
    ALTER TABLE conversation.bot_logos ALTER COLUMN content SET STATISTICS 0;
    CREATE INDEX bot_logos_hash ON conversation.bot_logos (hash)
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.bot_logos");
}
