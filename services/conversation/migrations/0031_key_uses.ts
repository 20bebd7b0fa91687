import type { Knex } from "@parley/service-kit";

export const name = "0031_key_uses";

/** api_keys.last_used_on: the last day, in UTC, on which a browser used the key. NULL if no browser has used it since this migration. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.api_keys ADD COLUMN last_used_on date");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.api_keys DROP COLUMN last_used_on");
}
