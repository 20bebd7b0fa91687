import type { Knex } from "@parley/service-kit";

export const name = "0041_session_visitors";

/**
 * session_visitors            one row for each visitor id that a session had before its current one, so that erasing and filtering by this id
 *                             find the session. Has the id's SHA-256 hash, because an id can be too long for an index entry.
 * sessions.visitor_since      the id of the first message after the last change from one visitor id to another; NULL without a change.
 * sessions.replaced_visitor   the hash of the id before that change. OpenTurn can read it only from the updated row.
 *
 * PostgreSQL keeps no statistics of the hashes. With them, someone who knows a visitor's id could find out that the visitor has sessions.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.session_visitors (
      workspace_id text NOT NULL,
      session_id   uuid NOT NULL,
      visitor_hash bytea NOT NULL,
      replaced_at  timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, session_id, visitor_hash)
    );
    CREATE INDEX session_visitors_hash ON conversation.session_visitors (workspace_id, visitor_hash, replaced_at, session_id);
    ALTER TABLE conversation.session_visitors ALTER COLUMN visitor_hash SET STATISTICS 0;
    ALTER TABLE conversation.sessions ADD COLUMN visitor_since bigint, ADD COLUMN replaced_visitor bytea;
    ALTER TABLE conversation.sessions ALTER COLUMN replaced_visitor SET STATISTICS 0;
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE conversation.sessions DROP COLUMN replaced_visitor, DROP COLUMN visitor_since;
    DROP TABLE conversation.session_visitors;
  `);
}
