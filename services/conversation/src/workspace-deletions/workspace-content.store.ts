import { type Database, transaction, withQueryTimeout } from "@parley/service-kit";

/** The server's limit for a statement: enough to delete a document of 16 MiB with embeddings. */
const TIMEOUT_MS = 120_000;
/** The client's limit: longer, so that the server cancels a slow statement before the client gives up. */
const QUERY_TIMEOUT_MS = TIMEOUT_MS + 2_000;

const DELETE_DOCUMENT = `
  DELETE FROM conversation.knowledge_sources
  WHERE (workspace_id, source_id) = (SELECT workspace_id, source_id FROM conversation.knowledge_sources WHERE workspace_id = $1 LIMIT 1)`;

const DELETE_DOCUMENT_OF_DELETED_BOT = `
  DELETE FROM conversation.knowledge_sources
  WHERE (workspace_id, source_id) = (
    SELECT s.workspace_id, s.source_id FROM conversation.bots b
    JOIN conversation.knowledge_sources s ON s.workspace_id = b.workspace_id AND s.bot_id = b.bot_id
    WHERE b.deleted_at IS NOT NULL LIMIT 1
  )`;

const DELETE_SITES_OF_DELETED_BOTS = `
  DELETE FROM conversation.knowledge_sites s USING conversation.bots b
  WHERE b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id AND b.deleted_at IS NOT NULL`;

/** Deletes the sites of deleted bots, so that no crawl adds further documents. */
export async function deleteSitesOfDeletedBots(database: Database): Promise<void> {
  await database.query(DELETE_SITES_OF_DELETED_BOTS);
}

/** Deletes one document of a workspace, with its chunks, words and embeddings. Returns false if there is none. */
export function deleteDocument(database: Database, workspaceId: string): Promise<boolean> {
  return deleteOne(database, DELETE_DOCUMENT, [workspaceId]);
}

/** Deletes one document of a deleted bot, as deleteDocument does. Returns false if there is none. */
export function deleteDocumentOfDeletedBot(database: Database): Promise<boolean> {
  return deleteOne(database, DELETE_DOCUMENT_OF_DELETED_BOT, []);
}

function deleteOne(database: Database, statement: string, values: unknown[]): Promise<boolean> {
  return transaction(database, async (connection) => {
    await connection.query(`SET LOCAL statement_timeout = ${TIMEOUT_MS}`);
    const { rowCount } = await connection.query(withQueryTimeout(statement, values, QUERY_TIMEOUT_MS));
    return rowCount === 1;
  });
}

/** Bots come last, because rows of other tables refer to them. */
const TABLES = [
  "tools",
  "moderation_patterns",
  "answers",
  "agents",
  "canned_replies",
  "api_keys",
  "identity_keys",
  "evaluation_cases",
  "evaluation_runs",
  "knowledge_sites",
  "erasures",
  "refusal_counts",
  "events",
  "usage_events",
  "webhook_endpoints",
  "email_messages",
  "email_recipients",
  "bots",
] as const;

/**
 * Deletes a workspace's bots with their tools, patterns, answers, keys, evaluations and sites, its identity keys, its agents, its canned replies, its
 * requests to erase visitors, its counts of refusals, its webhook endpoints and its recipients of e-mail. The housekeeping of webhooks deletes their
 * deliveries.
 */
export async function deleteBots(database: Database, workspaceId: string): Promise<void> {
  await transaction(database, async (connection) => {
    for (const table of TABLES)
      await connection.query(`DELETE FROM conversation.${table} WHERE workspace_id = $1`, [workspaceId]);
  });
}
