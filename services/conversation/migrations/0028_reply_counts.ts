import type { Knex } from "@parley/service-kit";

export const name = "0028_reply_counts";

/**
 * A background task counts the done turns of each workspace and hour, by closed_at.
 * - grounded, ungrounded: replies with and without passages in their prompt. Turns that older versions stored without this fact are in neither.
 * - first_tokens: a histogram of the times to the first token. statistics/first-token-times.ts defines the buckets.
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
