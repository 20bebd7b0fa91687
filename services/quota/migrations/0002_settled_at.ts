import type { Knex } from "@parley/service-kit";

export const name = "0002_settled_at";

/** Adds the time at which a turn was settled; null for turns that were settled before this migration. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE quota.reservations ADD COLUMN settled_at timestamptz");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE quota.reservations DROP COLUMN settled_at");
}
