import type { Knex } from "@parley/service-kit";

export const name = "0028_reply_counts";

/**
 * A row for each workspace and hour with done replies, by the time of their close. A background task writes them.
 * - grounded, ungrounded: replies whose prompt had passages, and had none. Replies of older versions are in neither.
 * - first_tokens: how many replies had their first token within the times of statistics/first-token-times.ts.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.reply_counts (
      workspace_id text NOT NULL,
      hour timestamptz NOT NULL,
      replies integer NOT NULL,
      grounded integer NOT NULL,
      ungrounded integer NOT NULL,
      first_tokens integer[] NOT NULL,
      PRIMARY KEY (workspace_id, hour)
    );
    CREATE INDEX reply_counts_by_hour ON conversation.reply_counts (hour);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.reply_counts");
}
