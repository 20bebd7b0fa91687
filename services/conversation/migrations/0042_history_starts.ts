import type { Knex } from "@parley/service-kit";

export const name = "0042_history_starts";

/**
 * turns.history_start   the id of the first message that the turn's prompt may contain; NULL if it may contain the whole session. A repeated
 *                       OpenTurn returns the same history, even if the session's visitor has changed since.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.turns ADD COLUMN history_start bigint");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.turns DROP COLUMN history_start");
}
