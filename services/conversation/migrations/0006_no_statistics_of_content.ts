import type { Knex } from "@parley/service-kit";

export const name = "0006_no_statistics_of_content";

/** What visitors and models say. */
const CONTENT = {
  sessions: ["visitor_id", "visitor_metadata", "referrer", "user_agent"],
  messages: ["content"],
} as const;

/**
 * The planner's statistics keep the commonest values of each column, and some between: a copy of what was said, which no erasure reaches.
 * No plan needs these. To set a column's type, here to the one it has, is what drops the statistics there are; nothing is rewritten.
 */
export async function up(knex: Knex): Promise<void> {
  for (const [table, columns] of Object.entries(CONTENT)) {
    const actions = columns.flatMap((column) => [
      `ALTER COLUMN ${column} TYPE ${column === "visitor_metadata" ? "jsonb" : "text"}`,
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
