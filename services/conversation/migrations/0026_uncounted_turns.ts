import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0026_uncounted_turns";

/** CREATE INDEX CONCURRENTLY, which does not block writes, cannot run in a transaction. */
export const config = { transaction: false };

/** Adds the index from which the prune reads uncounted turns (closed, but not done), oldest close first. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // An interrupted build leaves an invalid index.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_uncounted_closed");
    await knex.raw(`
      CREATE INDEX CONCURRENTLY turns_uncounted_closed ON conversation.turns (closed_at) WHERE status NOT IN ('streaming', 'done')
    `);
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () =>
    knex.raw("DROP INDEX CONCURRENTLY IF EXISTS conversation.turns_uncounted_closed"),
  );
}
