import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0033_sessions_by_review";

/** CREATE INDEX CONCURRENTLY does not block writes, but cannot run in a transaction. */
export const config = { transaction: false };

const LISTED = "deleted_at IS NULL AND erased_at IS NULL";

/** The indexes of the owners' list with the filter `review`. They hold only reviewed sessions, so an ordinary turn adds no entry. */
const INDEXES: Readonly<Record<string, string>> = {
  sessions_reviewed_good: `sessions (workspace_id, last_activity_at) WHERE reviews_good > 0 AND reviews_bad = 0 AND ${LISTED}`,
  sessions_reviewed_bad: `sessions (workspace_id, last_activity_at) WHERE reviews_bad > 0 AND ${LISTED}`,
};

export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    for (const [index, definition] of Object.entries(INDEXES)) {
      // An interrupted build leaves an invalid index.
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${index}`);
      await knex.raw(`CREATE INDEX CONCURRENTLY ${index} ON conversation.${definition}`);
    }
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    for (const index of Object.keys(INDEXES)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${index}`);
  });
}
