import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0018_turns_by_open";

/** CREATE INDEX CONCURRENTLY lets traffic continue, but cannot run in a transaction. */
export const config = { transaction: false };

/** Adds the index with which the sweep finds the streaming turns that were opened first. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_streaming_opened");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY turns_streaming_opened ON conversation.turns (opened_at) WHERE status = 'streaming'
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () =>
    knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_streaming_opened"),
  );
}
