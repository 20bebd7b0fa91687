import type { Knex } from "@parley/service-kit";

export const name = "0004_settling";

/**
 * outbox  one row per closed turn, until the quota service has settled it.
 * edges   one lease per running edge process.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.outbox (
      workspace_id text NOT NULL,
      turn_id      uuid NOT NULL,
      outcome      text NOT NULL CHECK (outcome IN ('done', 'void')),
      month        date,
      created_at   timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, turn_id),
      CHECK (outcome <> 'done' OR month IS NOT NULL)
    );
    CREATE INDEX outbox_age ON conversation.outbox (created_at, workspace_id, turn_id);

    CREATE TABLE conversation.edges (
      edge_id    uuid PRIMARY KEY,
      expires_at timestamptz NOT NULL
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.edges, conversation.outbox");
}
