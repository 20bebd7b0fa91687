import type { Knex } from "@parley/service-kit";

export const name = "0005_tools";

/**
 * tools                           the tools that a bot may call. `definition` is a parley.llm.v1.Tool in protobuf's JSON format.
 * moderation_patterns.applies_to  whether a pattern is matched against the visitor's message, the model's reply or both.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.tools (
      workspace_id text NOT NULL,
      bot_id       uuid NOT NULL,
      name         text NOT NULL,
      definition   jsonb NOT NULL,
      PRIMARY KEY (workspace_id, bot_id, name),
      FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
    );

    ALTER TABLE conversation.moderation_patterns
      ADD COLUMN applies_to text NOT NULL DEFAULT 'message' CHECK (applies_to IN ('message', 'reply', 'both'));
  `);
}

/** Deletes the patterns that apply only to replies, because the previous version would match them against messages. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DELETE FROM conversation.moderation_patterns WHERE applies_to = 'reply';
    ALTER TABLE conversation.moderation_patterns DROP COLUMN applies_to;
    DROP TABLE conversation.tools;
  `);
}
