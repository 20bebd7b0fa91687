import type { Knex } from "@parley/service-kit";

export const name = "0004_call_month";

/** Adds the UTC month ("YYYY-MM") in which the quota service reserved the turn; null for a turn without a reservation. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE llm.calls ADD COLUMN month text");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE llm.calls DROP COLUMN month");
}
