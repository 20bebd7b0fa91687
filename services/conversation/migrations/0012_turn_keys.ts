import type { Knex } from "@parley/service-kit";

export const name = "0012_turn_keys";

/**
 * key_hash      the idempotency key of a turn, hashed with its source and caller; null without a key.
 * request_hash  the hash of the turn's message, to refuse the key with another message.
 * ending        for a turn that the quota refused, the workspace's usage, which the turn's last events report; otherwise null.
 * reconnects    how often readers reconnected to the reply while it was streaming.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.turns
      ADD COLUMN key_hash bytea, ADD COLUMN request_hash bytea, ADD COLUMN ending jsonb, ADD COLUMN reconnects integer
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.turns
      DROP COLUMN key_hash, DROP COLUMN request_hash, DROP COLUMN ending, DROP COLUMN reconnects
  `);
}
