import type { Knex } from "@parley/service-kit";

export const name = "0053_time_zones";

/** bots.time_zone: the IANA name of the time zone in which visitors say "today" and "now". */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.bots ADD COLUMN time_zone text NOT NULL DEFAULT 'UTC'");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.bots DROP COLUMN time_zone");
}
