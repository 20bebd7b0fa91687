import type { Knex } from "@parley/service-kit";

export const name = "0005_calls_by_turn_month";

/** CREATE INDEX CONCURRENTLY cannot run in a transaction. */
export const config = { transaction: false };

/** Creates an index on the month of a call's turn, for summing a workspace's calls of a month. */
export async function up(knex: Knex): Promise<void> {
  // Drops the invalid index that an interrupted run left behind.
  await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_turn_month");
  await knex.raw("CREATE INDEX CONCURRENTLY calls_turn_month ON llm.calls (workspace_id, month)");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP INDEX CONCURRENTLY IF EXISTS llm.calls_turn_month");
}
