import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0035_unanswered_questions";

/** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
export const config = { transaction: false };

/**
 * The indexes for the list of unanswered questions. They are partial and small:
 * - turns_ungrounded: the done turns whose prompt had no passage.
 * - messages_rated_down: the replies that visitors rated down.
 */
const INDEXES: Readonly<Record<string, string>> = {
  turns_ungrounded: "turns (workspace_id, bot_id, closed_at) WHERE status = 'done' AND NOT grounded",
  messages_rated_down: "messages (workspace_id, created_at) WHERE rating = 'down'",
};

export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    for (const [index, definition] of Object.entries(INDEXES)) {
      // An interrupted build leaves an invalid index.
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${index}`);
      await knex.raw(`CREATE INDEX CONCURRENTLY ${index} ON conversation.${definition}`);
    }
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    for (const index of Object.keys(INDEXES)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${index}`);
  });
}
