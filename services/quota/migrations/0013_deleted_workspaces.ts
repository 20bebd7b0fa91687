import type { Knex } from "@parley/service-kit";

export const name = "0013_deleted_workspaces";

/** Adds the time of deletion. A deleted workspace keeps its row, so that its usage can be billed and its id is never used again. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE quota.workspaces ADD COLUMN deleted_at timestamptz");
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE quota.workspaces DROP COLUMN deleted_at");
}
