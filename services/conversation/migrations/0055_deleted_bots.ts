import type { Knex } from "@parley/service-kit";

export const name = "0055_deleted_bots";

/** bots.deleted_at  when the bot was deleted. Its row stays without content, because its conversations and its usage refer to it by its slug. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.bots ADD COLUMN deleted_at timestamptz");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE conversation.bots DROP COLUMN deleted_at");
}
