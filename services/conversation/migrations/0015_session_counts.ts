import type { Knex } from "@parley/service-kit";

export const name = "0015_session_counts";

/**
 * sessions.message_count  number of the session's messages, including those of streaming turns.
 * sessions.ratings_up     number of its replies that are rated up.
 * sessions.ratings_down   number of its replies that are rated down.
 * sessions.counted_at     the session's last_activity_at when the counts were made. If last_activity_at differs, a replica of the
 *                         previous version has stored a turn, or the session is older than these columns. The service then counts again.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.sessions
      ADD COLUMN message_count integer,
      ADD COLUMN ratings_up integer,
      ADD COLUMN ratings_down integer,
      ADD COLUMN counted_at timestamptz
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.sessions
      DROP COLUMN message_count,
      DROP COLUMN ratings_up,
      DROP COLUMN ratings_down,
      DROP COLUMN counted_at
  `);
}
