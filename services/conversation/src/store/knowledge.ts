import { type Connection, type Database, transaction } from "@parley/service-kit";
import type { Chunk } from "../domain/knowledge/chunking.ts";
import type { Format } from "../domain/knowledge/document.ts";

export type Source = {
  id: number;
  name: string;
  format: string;
  /** Of text, in all chunks together. */
  characters: number;
  chunks: number;
  updatedAt: Date;
};

export type NewSource = {
  workspaceId: string;
  botId: string;
  name: string;
  format: Format;
  chunks: readonly Chunk[];
};

const SOURCE = `source_id AS id, name, format, characters, chunks, updated_at AS "updatedAt"`;

const PUT_SOURCE = `
  INSERT INTO conversation.knowledge_sources AS s (workspace_id, bot_id, name, format, characters, chunks, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, now())
  ON CONFLICT (workspace_id, bot_id, name) DO UPDATE
    SET format = excluded.format, characters = excluded.characters, chunks = excluded.chunks, updated_at = now()
  RETURNING ${SOURCE}`;

const INSERT_CHUNKS = `
  INSERT INTO conversation.knowledge_chunks (workspace_id, bot_id, source_id, position, heading, content)
  SELECT $1, $2, $3, position, heading, content
  FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS chunk (heading, content, position)`;

/** Stores a document's chunks, in place of those of the document of the same name, all at once. */
export async function putSource(database: Database, source: NewSource): Promise<Source> {
  return transaction(database, async (connection) => {
    const { workspaceId, botId, chunks } = source;
    const stored = await upsertSource(connection, source);
    await connection.query("DELETE FROM conversation.knowledge_chunks WHERE workspace_id = $1 AND source_id = $2", [
      workspaceId,
      stored.id,
    ]);
    await connection.query(INSERT_CHUNKS, [
      workspaceId,
      botId,
      stored.id,
      chunks.map((chunk) => chunk.heading),
      chunks.map((chunk) => chunk.text),
    ]);
    return stored;
  });
}

async function upsertSource(connection: Connection, source: NewSource): Promise<Source> {
  const { workspaceId, botId, name, format, chunks } = source;
  const characters = chunks.reduce((sum, chunk) => sum + chunk.text.length, 0);
  const { rows } = await connection.query<Source>(PUT_SOURCE, [
    workspaceId,
    botId,
    name,
    format,
    characters,
    chunks.length,
  ]);
  const [stored] = rows;
  if (stored === undefined) throw new Error("an upsert without a condition returns its row");
  return stored;
}

/** A bot's documents, by name. */
export async function listSources(database: Database, workspaceId: string, botId: string): Promise<Source[]> {
  const { rows } = await database.query<Source>(
    `SELECT ${SOURCE} FROM conversation.knowledge_sources WHERE workspace_id = $1 AND bot_id = $2 ORDER BY name`,
    [workspaceId, botId],
  );
  return rows;
}

/** Removes a document with its chunks; false when the bot has none of this name. */
export async function deleteSource(
  database: Database,
  workspaceId: string,
  botId: string,
  name: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.knowledge_sources WHERE workspace_id = $1 AND bot_id = $2 AND name = $3",
    [workspaceId, botId, name],
  );
  return rowCount === 1;
}
