import type { Knex } from "@parley/service-kit";

export const name = "0034_bot_reply_counts";

/**
 * Counts each bot's done replies by hour and month. The hour is the one in which their turns were closed. The month is the one in which quota
 * counts them, so replies of one hour can belong to two months. A background task writes the rows.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.bot_reply_counts (
      workspace_id text NOT NULL,
      hour         timestamptz NOT NULL,
      bot_id       uuid NOT NULL,
      month        date NOT NULL,
      replies      integer NOT NULL,
      PRIMARY KEY (workspace_id, hour, bot_id, month)
    );
    CREATE INDEX bot_reply_counts_by_hour ON conversation.bot_reply_counts (hour);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.bot_reply_counts");
}
