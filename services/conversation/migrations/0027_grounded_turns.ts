import type { Knex } from "@parley/service-kit";

export const name = "0027_grounded_turns";

/** turns.grounded: whether the prompt had a passage of the bot's knowledge. NULL for a turn that an earlier version opened. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.turns ADD COLUMN grounded boolean");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.turns DROP COLUMN grounded");
}
