import type { Knex } from "@parley/service-kit";

export const name = "0056_key_names";

/** api_keys.name  what the owner calls the key. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.api_keys ADD COLUMN name text NOT NULL DEFAULT ''");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.api_keys DROP COLUMN name");
}
