import type { Knex } from "@parley/service-kit";

export const name = "0008_changes";

/**
 * Adds the audit log. The service's role may read and insert rows. It may delete rows only by calling `delete_expired_changes`. `member` is the
 * sub claim of the member's access token, NULL for the operator. `target` and `changed_fields` hold names and ids.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE quota.changes (
      workspace_id text NOT NULL,
      change_id bigint GENERATED ALWAYS AS IDENTITY,
      changed_at timestamptz NOT NULL DEFAULT now(),
      member text,
      method text NOT NULL,
      target jsonb NOT NULL,
      changed_fields text[] NOT NULL,
      PRIMARY KEY (workspace_id, change_id)
    );
    CREATE INDEX changes_by_time ON quota.changes (changed_at);
    CREATE FUNCTION quota.delete_expired_changes() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
    'DELETE FROM quota.changes WHERE changed_at < now() - interval ''400 days''';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP FUNCTION quota.delete_expired_changes(); DROP TABLE quota.changes");
}
