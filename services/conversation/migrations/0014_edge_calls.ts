import type { Knex } from "@parley/service-kit";

export const name = "0014_edge_calls";

/**
 * edges.address  where other edges reach an edge process
 * edges.token    the secret of that process
 * closed_turns   turns that an erasure or the sweeper closed while their edge may still run them. The edge reads and stops them. Kept for an hour.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.edges ADD COLUMN address text, ADD COLUMN token text;
    CREATE TABLE conversation.closed_turns (
      workspace_id text NOT NULL,
      turn_id      uuid NOT NULL,
      edge_id      uuid NOT NULL,
      closed_at    timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, turn_id)
    );
    CREATE INDEX closed_turns_edge ON conversation.closed_turns (edge_id, closed_at);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE conversation.closed_turns;
    ALTER TABLE conversation.edges DROP COLUMN address, DROP COLUMN token;
  `);
}
