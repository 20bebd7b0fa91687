import type { Knex } from "@parley/service-kit";

export const name = "0002_call_details";

/**
 * `tries` has the attempts of a call in order: [{model, startedMs, queueMs, sent, firstTokenMs, latencyMs, outcome, reason, next}]. It is always
 * read and written as a whole.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE llm.calls
      ADD COLUMN rounds     integer NOT NULL DEFAULT 1,
      ADD COLUMN tool_calls integer NOT NULL DEFAULT 0,
      ADD COLUMN tools_ms   integer NOT NULL DEFAULT 0,
      ADD COLUMN tries      jsonb NOT NULL DEFAULT '[]';
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(
    "ALTER TABLE llm.calls DROP COLUMN rounds, DROP COLUMN tool_calls, DROP COLUMN tools_ms, DROP COLUMN tries",
  );
}
