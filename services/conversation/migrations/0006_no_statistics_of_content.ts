import type { Knex } from "@parley/service-kit";

export const name = "0006_no_statistics_of_content";

/** Runs without a transaction, so that the two tables are not locked at the same time. */
export const config = { transaction: false };

/** The columns with content of visitors and models. */
const CONTENT = {
  sessions: ["visitor_id", "visitor_metadata", "referrer", "user_agent"],
  messages: ["content", "tools_called"],
};
/** The columns of type jsonb. */
const DOCUMENTS = ["visitor_metadata", "tools_called"];

/**
 * Deletes the planner's statistics of these columns and collects no new ones. Statistics contain common and sample values of a column, so
 * they would keep content that an erasure cannot reach. No query plan needs them. Setting a column's type, even to the same type, drops
 * its statistics without rewriting the table.
 */
export async function up(knex: Knex): Promise<void> {
  for (const [table, columns] of Object.entries(CONTENT)) {
    const actions = columns.flatMap((column) => [
      `ALTER COLUMN ${column} TYPE ${DOCUMENTS.includes(column) ? "jsonb" : "text"}`,
      `ALTER COLUMN ${column} SET STATISTICS 0`,
    ]);
    await knex.raw(`ALTER TABLE conversation.${table} ${actions.join(", ")}`);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const [table, columns] of Object.entries(CONTENT)) {
    const actions = columns.map((column) => `ALTER COLUMN ${column} SET STATISTICS -1`);
    await knex.raw(`ALTER TABLE conversation.${table} ${actions.join(", ")}`);
  }
}
