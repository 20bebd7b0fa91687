import type { Knex } from "@parley/service-kit";

export const name = "0005_calls_by_turn_month";

/** Built while rows are written, which no transaction allows. */
export const config = { transaction: false };

/** Serves the sums of a workspace's month. */
export async function up(knex: Knex): Promise<void> {
  // What a build that was cut short has left behind.
  await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_turn_month");
  await knex.raw("CREATE INDEX CONCURRENTLY calls_turn_month ON llm.calls (workspace_id, month)");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_turn_month");
}
