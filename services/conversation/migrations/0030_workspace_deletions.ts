import type { Knex } from "@parley/service-kit";

export const name = "0030_workspace_deletions";

/**
 * workspace_deletions  one row for each deleted workspace. erasing_at is set when the erasure begins: from then on, the workspace cannot be
 *                      restored. erased_at is set when the erasure ends. The row stays, so that nothing is stored for the workspace again.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.workspace_deletions (
      workspace_id text PRIMARY KEY,
      deleted_at   timestamptz NOT NULL DEFAULT now(),
      erasing_at   timestamptz,
      erased_at    timestamptz
    )
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.workspace_deletions");
}
