import type { Knex } from "@parley/service-kit";

export const name = "0032_reviews";

/**
 * messages.review        an owner's review of a reply: good, bad or empty.
 * sessions.reviews_good  how many replies of the session are reviewed as good.
 * sessions.reviews_bad   how many are reviewed as bad.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.messages ADD COLUMN review text NOT NULL DEFAULT '';
    ALTER TABLE conversation.sessions
      ADD COLUMN reviews_good integer NOT NULL DEFAULT 0,
      ADD COLUMN reviews_bad integer NOT NULL DEFAULT 0;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.messages DROP COLUMN review;
    ALTER TABLE conversation.sessions DROP COLUMN reviews_good, DROP COLUMN reviews_bad;
  `);
}
