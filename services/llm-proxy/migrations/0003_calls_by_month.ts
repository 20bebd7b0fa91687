import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0003_calls_by_month";

/** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
export const config = { transaction: false };

/** Creates the index for listing the calls of a workspace's month, and for finding expired rows. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // Drops the invalid index that an interrupted run left behind.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_month");
    await knex.raw("CREATE INDEX CONCURRENTLY calls_month ON llm.calls (workspace_id, created_at, call_id)");
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_month"));
}
