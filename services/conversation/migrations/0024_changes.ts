import type { Knex } from "@parley/service-kit";

export const name = "0024_changes";

/**
 * Adds the audit log. The service's role may read and add lines, but not change or delete them (service-role.ts). It deletes expired lines only
 * through `delete_expired_changes`, which runs as the migrating role. `member` is the sub claim of the member's access token, NULL for
 * the operator. `target` and `changed_fields` hold names and ids.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.changes (
      workspace_id text NOT NULL,
      change_id bigint GENERATED ALWAYS AS IDENTITY,
      changed_at timestamptz NOT NULL DEFAULT now(),
      member text,
      method text NOT NULL,
      target jsonb NOT NULL,
      changed_fields text[] NOT NULL,
      PRIMARY KEY (workspace_id, change_id)
    );
    CREATE INDEX changes_by_time ON conversation.changes (changed_at);
    CREATE FUNCTION conversation.delete_expired_changes() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
    'DELETE FROM conversation.changes WHERE changed_at < now() - interval ''400 days''';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP FUNCTION conversation.delete_expired_changes(); DROP TABLE conversation.changes");
}
