import type { Knex } from "@parley/service-kit";

export const name = "0006_no_statistics_of_content";

/** Two tables, one after the other. */
export const config = { transaction: false };

/** What visitors and models say. */
const CONTENT = {
  sessions: ["visitor_id", "visitor_metadata", "referrer", "user_agent"],
  messages: ["content", "tools_called"],
};
const DOCUMENTS = ["visitor_metadata", "tools_called"];

/**
 * The planner's statistics keep the commonest values of each column, and some between: a copy of what was said, which no erasure reaches.
 * No plan needs these. To set a column's type, here to the one it has, is what drops the statistics there are; nothing is rewritten.
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
