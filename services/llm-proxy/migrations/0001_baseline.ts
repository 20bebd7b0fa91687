import type { Knex } from "@parley/service-kit";

export const name = "0001_baseline";

/** Creates the schema of the llm-proxy: the call log and the audit log. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    -- The call log: one row per call of Generate, never updated.
    CREATE TABLE llm.calls (
      workspace_id   text NOT NULL,
      call_id        uuid NOT NULL,
      turn_id        uuid NOT NULL,
      -- The provider and the model of the last attempt; empty if there was no attempt.
      provider       text NOT NULL,
      model          text NOT NULL,
      -- The requested model or route.
      asked          text NOT NULL,
      tokens_in      integer NOT NULL CHECK (tokens_in >= 0),
      tokens_out     integer NOT NULL CHECK (tokens_out >= 0),
      -- Whether Parley counted or estimated tokens, because a provider sent no counts.
      estimated      boolean NOT NULL,
      queue_ms       integer NOT NULL,
      first_token_ms integer NOT NULL,
      latency_ms     integer NOT NULL,
      attempts       integer NOT NULL,
      failovers      integer NOT NULL,
      outcome        text NOT NULL,
      -- Why the call did not complete: a code of Parley, never a provider's text.
      reason         text NOT NULL,
      -- NULL if the model has no price.
      cost           numeric(20, 10),
      created_at     timestamptz NOT NULL,
      -- The UTC month ("YYYY-MM") in which the quota service reserved the turn; NULL for a turn without a reservation.
      month          text,
      -- How a complete generation finished: length if its text was cut at a limit of tokens.
      finish_detail  text NOT NULL DEFAULT '',
      rounds         integer NOT NULL DEFAULT 1,
      tool_calls     integer NOT NULL DEFAULT 0,
      tools_ms       integer NOT NULL DEFAULT 0,
      -- The parts of tokens_in that the providers read from their caches and wrote to them; 0 if unknown.
      tokens_cached        integer NOT NULL DEFAULT 0,
      tokens_cache_written integer NOT NULL DEFAULT 0,
      -- The attempts in order, each an AttemptRow of calls.store.ts. Always read and written as a whole.
      tries          jsonb NOT NULL DEFAULT '[]',
      PRIMARY KEY (workspace_id, call_id)
    );
    CREATE INDEX calls_turn ON llm.calls (workspace_id, turn_id);
    -- Sums a workspace's calls of a month.
    CREATE INDEX calls_turn_month ON llm.calls (workspace_id, month);
    -- Lists the calls of a workspace by time, and finds expired rows.
    CREATE INDEX calls_month ON llm.calls (workspace_id, created_at, call_id);

    -- The audit log, with reloads and migrations. The service's role may read and insert rows. It may delete rows only by calling
    -- delete_expired_audit_log_entries.
    CREATE TABLE llm.audit_log (
      workspace_id   text NOT NULL,
      entry_id       bigint GENERATED ALWAYS AS IDENTITY,
      changed_at     timestamptz NOT NULL DEFAULT now(),
      member         text,
      method         text NOT NULL,
      target         jsonb NOT NULL,
      changed_fields text[] NOT NULL,
      PRIMARY KEY (workspace_id, entry_id)
    );
    CREATE INDEX audit_log_by_time ON llm.audit_log (changed_at);

    CREATE FUNCTION llm.delete_expired_audit_log_entries() RETURNS void
    LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
    'DELETE FROM llm.audit_log WHERE changed_at < now() - interval ''400 days''';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP FUNCTION llm.delete_expired_audit_log_entries(); DROP TABLE llm.audit_log, llm.calls");
}
