import type { Knex } from "@parley/service-kit";

export const name = "0003_calls_by_month";

/** Built while rows are written, which no transaction allows. */
export const config = { transaction: false };

/** Serves the listing and the sums of a workspace's month, and finds what is older than the ledger keeps. */
export async function up(knex: Knex): Promise<void> {
  await patiently(knex, async () => {
    // What a build that was cut short has left behind.
    await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_month");
    await knex.raw("CREATE INDEX CONCURRENTLY calls_month ON llm.calls (workspace_id, created_at, call_id)");
  });
}

export async function down(knex: Knex): Promise<void> {
  await patiently(knex, () => knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_month"));
}

/**
 * Without the limit on waiting for locks: what is done concurrently waits for every older transaction of the database, another service's
 * migration among them, and meanwhile keeps nobody waiting.
 */
async function patiently(knex: Knex, work: () => PromiseLike<unknown>): Promise<void> {
  const { rows } = await knex.raw<{ rows: { lock_timeout: string }[] }>("SHOW lock_timeout");
  await knex.raw("SET lock_timeout = 0");
  await work();
  await knex.raw("SELECT set_config('lock_timeout', ?, false)", [rows[0]?.lock_timeout ?? "0"]);
}
