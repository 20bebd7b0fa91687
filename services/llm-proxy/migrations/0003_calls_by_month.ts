import { type Knex, withoutLockTimeout } from "@parley/service-kit/migrations";

export const name = "0003_calls_by_month";

/** Built while rows are written, which no transaction allows. */
export const config = { transaction: false };

/** Serves the listing and the sums of a workspace's month, and finds what is older than the ledger keeps. */
export async function up(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, async () => {
    // What a build that was cut short has left behind.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_month");
    await knex.raw("CREATE INDEX CONCURRENTLY calls_month ON llm.calls (workspace_id, created_at, call_id)");
  });
}

export async function down(knex: Knex): Promise<void> {
  await withoutLockTimeout(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_month"));
}
