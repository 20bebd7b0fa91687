import type { Knex } from "@parley/service-kit";

export const name = "0036_evaluations";

/**
 * evaluation_cases  owners' questions, each with the name of the document that a search must find for it.
 * evaluation_runs   the last runs of each bot. results is an array of {"caseId", "rank"}; a rank of 0 means not found.
 *                   semantic_failures counts the cases whose semantic search failed, so that only words were searched.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.evaluation_cases (
      workspace_id text NOT NULL,
      case_id      bigint GENERATED ALWAYS AS IDENTITY,
      bot_id       uuid NOT NULL,
      question     text NOT NULL,
      document     text NOT NULL,
      PRIMARY KEY (workspace_id, case_id),
      UNIQUE (workspace_id, bot_id, question),
      FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
    );

    CREATE TABLE conversation.evaluation_runs (
      workspace_id      text NOT NULL,
      bot_id            uuid NOT NULL,
      run_id            bigint GENERATED ALWAYS AS IDENTITY,
      ran_at            timestamptz NOT NULL DEFAULT now(),
      cases             integer NOT NULL,
      searched          integer NOT NULL,
      found             integer NOT NULL,
      semantic_failures integer NOT NULL,
      documents         integer NOT NULL,
      results           jsonb NOT NULL,
      PRIMARY KEY (workspace_id, bot_id, run_id),
      FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
    );
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.evaluation_runs, conversation.evaluation_cases");
}
