import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0048_unanswered_turns";

/** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
export const config = { transaction: false };

const UNANSWERED =
  "turns (workspace_id, bot_id, closed_at) WHERE status = 'done' AND (NOT grounded OR (grounded AND finish_detail = 'declined'))";
const UNGROUNDED = "turns (workspace_id, bot_id, closed_at) WHERE status = 'done' AND NOT grounded";

/**
 * Replaces the index of the done turns without a passage with one that also has those in which the model said that it has no answer.
 * turns.grounded is also NULL for a message that asks nothing, such as a greeting.
 */
export async function up(knex: Knex): Promise<void> {
  await replaceIndex(knex, "turns_ungrounded", "turns_unanswered", UNANSWERED);
}

export async function down(knex: Knex): Promise<void> {
  await replaceIndex(knex, "turns_unanswered", "turns_ungrounded", UNGROUNDED);
}

async function replaceIndex(knex: Knex, old: string, index: string, definition: string): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${index}`);
    await knex.raw(`CREATE INDEX CONCURRENTLY ${index} ON conversation.${definition}`);
    await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${old}`);
  });
}
