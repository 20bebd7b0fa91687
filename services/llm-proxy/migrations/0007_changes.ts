import type { Knex } from "@parley/service-kit";

export const name = "0007_changes";

/**
 * Adds the log of reloads and migrations, with the columns of the other services' audit logs. The service's role may read and insert rows. It may
 * delete rows only by calling `delete_expired_changes`.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE llm.changes (
      workspace_id text NOT NULL,
      change_id bigint GENERATED ALWAYS AS IDENTITY,
      changed_at timestamptz NOT NULL DEFAULT now(),
      member text,
      method text NOT NULL,
      target jsonb NOT NULL,
      changed_fields text[] NOT NULL,
      PRIMARY KEY (workspace_id, change_id)
    );
    CREATE INDEX changes_by_time ON llm.changes (changed_at);
    CREATE FUNCTION llm.delete_expired_changes() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
    'DELETE FROM llm.changes WHERE changed_at < now() - interval ''400 days''';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP FUNCTION llm.delete_expired_changes(); DROP TABLE llm.changes");
}
