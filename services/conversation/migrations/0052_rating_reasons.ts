import type { Knex } from "@parley/service-kit";

export const name = "0052_rating_reasons";

/**
 * messages.rating_reason  what the visitor wrote about the rating of a reply; empty if nothing. No statistics, as of all content of visitors: see
 * 0006_no_statistics_of_content.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.messages
      ADD COLUMN rating_reason text NOT NULL DEFAULT '',
      ALTER COLUMN rating_reason SET STATISTICS 0;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.messages DROP COLUMN rating_reason");
}
