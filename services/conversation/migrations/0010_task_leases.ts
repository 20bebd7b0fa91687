import type { Knex } from "@parley/service-kit";

export const name = "0010_task_leases";

/**
 * task_leases  one row for each background task that only one replica runs at a time, with the task's progress. No replica may start a run
 *              before due_at.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.task_leases (
      task         text PRIMARY KEY,
      holder       uuid NOT NULL,
      due_at       timestamptz NOT NULL,
      progress     jsonb NOT NULL DEFAULT '{}',
      succeeded_at timestamptz
    )
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.task_leases");
}
