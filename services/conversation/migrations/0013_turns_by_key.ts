import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0013_turns_by_key";

/** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
export const config = { transaction: false };

/** Ensures that a session has at most one turn for each idempotency key. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_key");
    await knex.raw(`
      CREATE UNIQUE INDEX CONCURRENTLY turns_key ON conversation.turns (workspace_id, session_id, key_hash)
      WHERE key_hash IS NOT NULL
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_key"));
}
