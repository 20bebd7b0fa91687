import type { Knex } from "@parley/service-kit";

export const name = "0001_calls";

/**
 * Creates llm.calls, the call log: one row per call of Generate, never updated.
 * - `asked`: the requested model or route.
 * - `model`: the model of the last attempt; empty if there was no attempt.
 * - `reason`: why the call did not complete: a code of Parley, never a provider's text.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE llm.calls (
      workspace_id   text NOT NULL,
      call_id        uuid NOT NULL,
      turn_id        uuid NOT NULL,
      provider       text NOT NULL,
      model          text NOT NULL,
      asked          text NOT NULL,
      tokens_in      integer NOT NULL CHECK (tokens_in >= 0),
      tokens_out     integer NOT NULL CHECK (tokens_out >= 0),
      estimated      boolean NOT NULL,
      queue_ms       integer NOT NULL,
      first_token_ms integer NOT NULL,
      latency_ms     integer NOT NULL,
      attempts       integer NOT NULL,
      failovers      integer NOT NULL,
      outcome        text NOT NULL,
      reason         text NOT NULL,
      cost           numeric(20, 10),
      created_at     timestamptz NOT NULL,
      PRIMARY KEY (workspace_id, call_id)
    );
    CREATE INDEX calls_turn ON llm.calls (workspace_id, turn_id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE llm.calls");
}
