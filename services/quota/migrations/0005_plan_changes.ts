import type { Knex } from "@parley/service-kit";

export const name = "0005_plan_changes";

/**
 * plan_changes  one row for each change of a workspace's plan, never updated. The plan at a time is `previous_plan` of the first change
 *               after it, or the workspace's current plan if no change followed.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE quota.plan_changes (
      workspace_id  text NOT NULL,
      changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
      previous_plan text NOT NULL REFERENCES quota.plans (plan),
      plan          text NOT NULL REFERENCES quota.plans (plan),
      PRIMARY KEY (workspace_id, changed_at)
    )
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE quota.plan_changes");
}
