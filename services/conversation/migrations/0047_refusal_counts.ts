import type { Knex } from "@parley/service-kit";

export const name = "0047_refusal_counts";

/**
 * turns: how many turns with this outcome ended without a reply on `day` (UTC) and kept the visitor's message. See turns/refusal-counts.store.ts.
 * The first such turn of a new day sets `turns` back to 1, so a workspace has at most one row for each outcome.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.refusal_counts (
      workspace_id text NOT NULL,
      outcome text NOT NULL,
      day date NOT NULL,
      turns integer NOT NULL,
      PRIMARY KEY (workspace_id, outcome)
    ) WITH (fillfactor = 50)
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.refusal_counts");
}
