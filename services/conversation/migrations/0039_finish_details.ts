import type { Knex } from "@parley/service-kit/migrations";

export const name = "0039_finish_details";

/** Adds a detail of how a complete reply finished: `length` if its text was cut at a limit of tokens, otherwise null. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.turns ADD COLUMN finish_detail text");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.turns DROP COLUMN finish_detail");
}
