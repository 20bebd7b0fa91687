import type { Knex } from "@parley/service-kit/migrations";

export const name = "0038_pending_lists";

/** In a transaction, the lock of ALTER INDEX would block traffic while the lists are emptied. */
export const config = { transaction: false };

const INDEXES = ["conversation.knowledge_chunks_terms", "conversation.knowledge_chunks_search"];

/**
 * A GIN index has a list of new entries that are not sorted yet. Every search of every bot reads the whole list, and the statement that fills
 * it sorts all its entries. A limit of 256 kB instead of 4 MB keeps the reading and the sorting short.
 */
export async function up(knex: Knex): Promise<void> {
  for (const index of INDEXES) {
    await knex.raw(`ALTER INDEX ${index} SET (gin_pending_list_limit = 256)`);
    await knex.raw("SELECT gin_clean_pending_list(?)", [index]);
  }
}

export async function down(knex: Knex): Promise<void> {
  for (const index of INDEXES) await knex.raw(`ALTER INDEX ${index} RESET (gin_pending_list_limit)`);
}
