import type { Knex } from "@parley/service-kit";

export const name = "0006_finish_details";

/** Adds a detail of how a complete generation finished: `length` if its text was cut at a limit of tokens. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE llm.calls ADD COLUMN finish_detail text NOT NULL DEFAULT ''");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE llm.calls DROP COLUMN finish_detail");
}
