import type { Knex } from "@parley/service-kit";

export const name = "0004_call_month";

/** The UTC month its turn was reserved in ("YYYY-MM"), as the quota's books have it; null in rows of calls that belong to no hold. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE llm.calls ADD COLUMN month text");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE llm.calls DROP COLUMN month");
}
