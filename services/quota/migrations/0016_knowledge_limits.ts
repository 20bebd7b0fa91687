import type { Knex } from "@parley/service-kit";

export const name = "0016_knowledge_limits";

/**
 * The documents, and the characters of their text, that all bots of a workspace together may have. The conversation service enforces these limits.
 * The defaults are for plans that operators add to the table.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE quota.plans
      ADD COLUMN knowledge_documents integer NOT NULL DEFAULT 2000 CHECK (knowledge_documents >= 0),
      ADD COLUMN knowledge_characters integer NOT NULL DEFAULT 50000000 CHECK (knowledge_characters >= 0);
    UPDATE quota.plans p
    SET knowledge_documents = d.documents, knowledge_characters = d.characters
    FROM (VALUES ('free', 500, 10000000), ('scale', 10000, 250000000)) AS d (plan, documents, characters)
    WHERE p.plan = d.plan
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE quota.plans DROP COLUMN knowledge_documents, DROP COLUMN knowledge_characters");
}
