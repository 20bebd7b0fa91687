import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0016_session_lists";

/** CREATE INDEX CONCURRENTLY, during which traffic continues, cannot run in a transaction. */
export const config = { transaction: false };

const LISTED = "deleted_at IS NULL AND erased_at IS NULL";

/**
 * The indexes of the owners' filtered lists and of exports. Lists without a filter use sessions_recent (migration 0003).
 * - A visitor's id can be too long for an index entry, so its hash is indexed.
 * - An ordinary turn adds no entry to the indexes of ratings and of the playground.
 * - sessions_uncounted holds the sessions whose counts are out of date: see 0015.
 */
const INDEXES: Readonly<Record<string, string>> = {
  sessions_bot: `sessions (workspace_id, bot_id, last_activity_at) WHERE ${LISTED}`,
  sessions_visitor:
    "sessions (workspace_id, hashtextextended(visitor_id, 0), last_activity_at) WHERE erased_at IS NULL AND visitor_id <> ''",
  sessions_rated_up: `sessions (workspace_id, last_activity_at) WHERE ratings_up > 0 AND ratings_down = 0 AND ${LISTED}`,
  sessions_rated_down: `sessions (workspace_id, last_activity_at) WHERE ratings_down > 0 AND ${LISTED}`,
  sessions_playground: `sessions (workspace_id, last_activity_at) WHERE source = 'playground' AND ${LISTED}`,
  sessions_started: `sessions (workspace_id, started_at, session_id) WHERE ${LISTED}`,
  sessions_uncounted:
    "sessions (last_activity_at) WHERE counted_at IS DISTINCT FROM last_activity_at AND erased_at IS NULL",
};

export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    for (const [index, definition] of Object.entries(INDEXES)) {
      // An interrupted build leaves an invalid index.
      await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${index}`);
      await knex.raw(`CREATE INDEX CONCURRENTLY ${index} ON conversation.${definition}`);
    }
  });
  // The statistics would contain hashes. With them, someone who knows a visitor's id could find out that the visitor has sessions.
  await knex.raw("ALTER INDEX conversation.sessions_visitor ALTER COLUMN 2 SET STATISTICS 0");
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    for (const index of Object.keys(INDEXES)) await knex.raw(`DROP INDEX CONCURRENTLY IF EXISTS conversation.${index}`);
  });
}
