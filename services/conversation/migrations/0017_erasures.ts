import type { Knex } from "@parley/service-kit";

export const name = "0017_erasures";

/**
 * erasures  one row for each request to erase a visitor, until nothing of the visitor is left. PostgreSQL keeps no statistics of visitor_id,
 *           because they would contain ids.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.erasures (
      workspace_id text NOT NULL,
      request_id   uuid NOT NULL,
      visitor_id   text NOT NULL,
      requested_at timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, request_id)
    );
    ALTER TABLE conversation.erasures ALTER COLUMN visitor_id SET STATISTICS 0;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.erasures");
}
