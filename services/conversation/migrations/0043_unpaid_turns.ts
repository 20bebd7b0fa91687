import type { Knex } from "@parley/service-kit";

export const name = "0043_unpaid_turns";

/** So that each statement locks only one busy table. */
export const config = { transaction: false };

/** unpaid_day: the UTC day of the hold of an unpaid reply, NULL for all other turns. See CloseTurnRequest. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.turns ADD COLUMN IF NOT EXISTS unpaid_day date");
  await knex.raw("ALTER TABLE conversation.outbox ADD COLUMN IF NOT EXISTS unpaid_day date");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.outbox DROP COLUMN IF EXISTS unpaid_day");
  await knex.raw("ALTER TABLE conversation.turns DROP COLUMN IF EXISTS unpaid_day");
}
