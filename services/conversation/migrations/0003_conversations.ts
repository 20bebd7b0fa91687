import type { Knex } from "@parley/service-kit";

export const name = "0003_conversations";

const STATUSES = "('streaming', 'done', 'error', 'blocked', 'quota_exceeded', 'cancelled', 'interrupted')";

/**
 * sessions  one row per session. The row of an erased session stays as a tombstone, so that its id is never used again.
 * messages  two rows per turn, the visitor's message and the reply, with consecutive ids. Their order by id is the order of the turns.
 * turns     one row per turn. The audit compares these rows with the workspace's usage.
 *
 * These tables have no foreign keys to each other: one statement writes all rows of a turn, and each key would cost a lookup per row.
 * message_ids has CACHE 1: if connections cached values, a later turn could get a smaller id.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.sessions (
      workspace_id     text NOT NULL,
      session_id       uuid NOT NULL,
      bot_id           uuid NOT NULL,
      source           text NOT NULL CHECK (source IN ('widget', 'playground')),
      visitor_id       text,
      visitor_metadata jsonb,
      referrer         text,
      user_agent       text,
      started_at       timestamptz NOT NULL,
      last_activity_at timestamptz NOT NULL,
      deleted_at       timestamptz,
      erased_at        timestamptz,
      PRIMARY KEY (workspace_id, session_id)
    );
    CREATE INDEX sessions_recent ON conversation.sessions (workspace_id, last_activity_at) WHERE erased_at IS NULL;

    CREATE SEQUENCE conversation.message_ids AS bigint INCREMENT BY 2 MINVALUE 1 MAXVALUE 9007199254740989 CACHE 1;

    CREATE TABLE conversation.messages (
      workspace_id    text NOT NULL,
      session_id      uuid NOT NULL,
      message_id      bigint NOT NULL,
      turn_id         uuid NOT NULL,
      role            text NOT NULL CHECK (role IN ('user', 'assistant')),
      content         text NOT NULL,
      rating          text NOT NULL DEFAULT '' CHECK (rating IN ('', 'up', 'down')),
      model           text NOT NULL DEFAULT '',
      tokens_in       integer NOT NULL DEFAULT 0,
      tokens_out      integer NOT NULL DEFAULT 0,
      latency_ms      integer NOT NULL DEFAULT 0,
      status          text NOT NULL CHECK (status IN ${STATUSES}),
      error_message   text NOT NULL DEFAULT '',
      rag_chunks_used bigint[] NOT NULL DEFAULT '{}',
      tools_called    jsonb NOT NULL DEFAULT '[]',
      created_at      timestamptz NOT NULL,
      closed_at       timestamptz,
      PRIMARY KEY (workspace_id, session_id, message_id)
    );

    CREATE TABLE conversation.turns (
      workspace_id   text NOT NULL,
      turn_id        uuid NOT NULL,
      session_id     uuid NOT NULL,
      message_id     bigint NOT NULL,
      bot_id         uuid NOT NULL,
      edge_id        uuid NOT NULL,
      status         text NOT NULL CHECK (status IN ${STATUSES}),
      month          date,
      asked_model    text NOT NULL,
      model          text NOT NULL,
      tokens_in      integer NOT NULL DEFAULT 0,
      tokens_out     integer NOT NULL DEFAULT 0,
      latency_ms     integer NOT NULL DEFAULT 0,
      first_token_ms integer NOT NULL DEFAULT 0,
      error_code     text NOT NULL DEFAULT '',
      blocked_reason text,
      phases         jsonb,
      opened_at      timestamptz NOT NULL,
      closed_at      timestamptz,
      PRIMARY KEY (workspace_id, turn_id),
      CHECK (status <> 'done' OR month IS NOT NULL),
      CHECK ((status = 'streaming') = (closed_at IS NULL))
    );
    CREATE INDEX turns_streaming ON conversation.turns (workspace_id, session_id) WHERE status = 'streaming';
    CREATE INDEX turns_done ON conversation.turns (month, workspace_id) WHERE status = 'done';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP TABLE conversation.turns, conversation.messages, conversation.sessions;
    DROP SEQUENCE conversation.message_ids;
  `);
}
