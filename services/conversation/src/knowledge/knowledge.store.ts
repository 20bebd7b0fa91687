import { type Connection, type Database, type Queryable, transaction } from "@parley/service-kit";
import type { Format, IndexedChunk, IndexedDocument, LanguageName } from "../documents/index.ts";
import { type KnowledgeLimits, type KnowledgeUsage, requireRoom, type UsageWithout } from "./knowledge-limits.ts";

/** A stored document of a bot's knowledge. */
export type Source = {
  id: number;
  name: string;
  format: string;
  /** Text search configuration that stems the document's words. */
  language: string;
  /** URL that the document was fetched from; empty if the AddSource request contained the content. */
  url: string;
  /** Length of the text in all chunks. */
  characters: number;
  chunks: number;
  updatedAt: Date;
  /** Model of the embeddings; empty until the source is first claimed for embedding. */
  embeddingModel: string;
  /** Number of chunks with an embedding of that model. */
  embedded: number;
};

export type NewSource = {
  workspaceId: string;
  botId: string;
  name: string;
  format: Format;
  language: LanguageName;
  url: string;
  document: IndexedDocument;
};

// The column `embedded` counts embeddings of the content that was stored at the time `embedding_of`. If that content has been replaced since, the
// result is 0.
const SOURCE = `source_id AS id, name, format, language, url, characters, chunks, updated_at AS "updatedAt",
  embedding_model AS "embeddingModel", CASE WHEN embedding_of = updated_at THEN embedded ELSE 0 END AS embedded`;

const PUT_SOURCE = `
  INSERT INTO conversation.knowledge_sources AS s (workspace_id, bot_id, name, format, language, url, characters, chunks, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now())
  ON CONFLICT (workspace_id, bot_id, name) DO UPDATE
    SET format = excluded.format, language = excluded.language, url = excluded.url,
        characters = excluded.characters, chunks = excluded.chunks, updated_at = now()
  RETURNING ${SOURCE}`;

// Stores chunks. Returns, for each lexeme, how many of them contain it. The column `language` is for Parley versions before migration 0008,
// which search in the generated column `search` with two languages.
const INSERT_CHUNKS = `
  WITH stored AS (
    INSERT INTO conversation.knowledge_chunks (workspace_id, bot_id, source_id, position, heading, content, language, terms)
    SELECT $1, $2::uuid, $3, $11 + position, heading, content, CASE $4::text WHEN 'english' THEN 'english' ELSE 'simple' END,
           array_to_tsvector(ARRAY['bot:' || $2::uuid])
           || setweight(to_tsvector(dictionary, innermost_heading), 'A')
           || setweight(to_tsvector(dictionary, outer_headings), 'B')
           || to_tsvector(dictionary, words)
           || setweight(to_tsvector(dictionary, code), 'C')
    FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
           WITH ORDINALITY AS chunk (heading, content, innermost_heading, outer_headings, words, code, position),
         CAST('pg_catalog.' || $4::text AS regconfig) AS dictionary
    RETURNING terms
  )
  SELECT lexeme, count(*) AS chunks FROM stored, unnest(tsvector_to_array(terms)) AS lexeme GROUP BY lexeme`;

const READ_LEXEMES = `
  SELECT word, lexeme
  FROM unnest($2::text[]) AS word,
       CAST('pg_catalog.' || $1::text AS regconfig) AS dictionary,
       unnest(tsvector_to_array(to_tsvector(dictionary, word))) AS lexeme`;

const INSERT_WORDS = `
  INSERT INTO conversation.knowledge_words (workspace_id, bot_id, source_id, word, lexeme, chunks)
  SELECT $1, $2, $3, word, lexeme, chunks FROM unnest($4::text[], $5::text[], $6::integer[]) AS stored (word, lexeme, chunks)`;

/**
 * Stores a document in one transaction, unless it exceeds a limit (requireRoom), and replaces the bot's document of the same name. Uses separate statements for each piece (some of
 * the document's chunks or words), because a single statement for a large document would exceed the statement timeout.
 */
export async function putSource(database: Database, source: NewSource, limits: KnowledgeLimits = {}): Promise<Source> {
  return transaction(database, async (connection) => {
    const current = await readUsageWithout(connection, source);
    requireRoom(current, source.document.characters, limits);
    // Locks the source's row, which serializes concurrent calls for the same name.
    const stored = await upsertSource(connection, source);
    for (const table of ["knowledge_chunks", "knowledge_words"])
      await connection.query(`DELETE FROM conversation.${table} WHERE workspace_id = $1 AND source_id = $2`, [
        source.workspaceId,
        stored.id,
      ]);
    await insertPieces(connection, source, stored.id);
    return stored;
  });
}

const READ_USAGE = `
  SELECT count(*)::integer AS documents, coalesce(sum(characters), 0)::float8 AS characters
  FROM conversation.knowledge_sources WHERE workspace_id = $1`;

/** Returns the number of a workspace's documents, and the characters of their text. */
export async function readKnowledgeUsage(database: Queryable, workspaceId: string): Promise<KnowledgeUsage> {
  const { rows } = await database.query<KnowledgeUsage>(READ_USAGE, [workspaceId]);
  return rows[0] ?? { documents: 0, characters: 0 };
}

const READ_SOURCE_SIZE = `
  SELECT characters FROM conversation.knowledge_sources WHERE workspace_id = $1 AND bot_id = $2 AND name = $3`;

/** Returns the workspace's usage without the document that `source` replaces, and the characters of that document. */
export async function readUsageWithout(
  database: Queryable,
  { workspaceId, botId, name }: Pick<NewSource, "workspaceId" | "botId" | "name">,
): Promise<UsageWithout> {
  const { documents, characters } = await readKnowledgeUsage(database, workspaceId);
  const { rows } = await database.query<{ characters: number }>(READ_SOURCE_SIZE, [workspaceId, botId, name]);
  const replaced = rows[0]?.characters;
  return { others: { documents: documents - rows.length, characters: characters - (replaced ?? 0) }, replaced };
}

async function insertPieces(connection: Connection, source: NewSource, sourceId: number): Promise<void> {
  const { language, document } = source;
  const ids = [source.workspaceId, source.botId, sourceId];
  const chunksByLexeme = new Map<string, number>();
  let position = 0;
  for (const piece of document.pieces) {
    if ("words" in piece) await insertWords(connection, { ids, language, words: piece.words, chunksByLexeme });
    else {
      const values = [...ids, language, ...toChunkColumns(piece.chunks), position];
      const { rows } = await connection.query<{ lexeme: string; chunks: number }>(INSERT_CHUNKS, values);
      for (const { lexeme, chunks } of rows) chunksByLexeme.set(lexeme, (chunksByLexeme.get(lexeme) ?? 0) + chunks);
      position += piece.chunks.length;
    }
  }
}

type NewWords = {
  /** The ids of the workspace, the bot and the source. */
  ids: readonly (string | number)[];
  language: LanguageName;
  words: readonly string[];
  /** For each lexeme, the number of the document's chunks that contain it. */
  chunksByLexeme: ReadonlyMap<string, number>;
};

/** A stop word has no lexeme, so it is not stored. */
async function insertWords(connection: Connection, { ids, language, words, chunksByLexeme }: NewWords): Promise<void> {
  const { rows } = await connection.query<{ word: string; lexeme: string }>(READ_LEXEMES, [language, words]);
  const found = rows.flatMap(({ word, lexeme }) => {
    const chunks = chunksByLexeme.get(lexeme);
    return chunks === undefined ? [] : [{ word, lexeme, chunks }];
  });
  await connection.query(INSERT_WORDS, [
    ...ids,
    found.map(({ word }) => word),
    found.map(({ lexeme }) => lexeme),
    found.map(({ chunks }) => chunks),
  ]);
}

function toChunkColumns(chunks: readonly IndexedChunk[]): string[][] {
  return [
    chunks.map((chunk) => chunk.heading),
    chunks.map((chunk) => chunk.text),
    chunks.map(({ search }) => search.innermostHeading),
    chunks.map(({ search }) => search.outerHeadings),
    chunks.map(({ search }) => search.text),
    chunks.map(({ search }) => search.code),
  ];
}

async function upsertSource(connection: Connection, source: NewSource): Promise<Source> {
  const { workspaceId, botId, name, format, language, url } = source;
  const { characters, chunkCount } = source.document;
  const values = [workspaceId, botId, name, format, language, url, characters, chunkCount];
  const { rows } = await connection.query<Source>(PUT_SOURCE, values);
  const [stored] = rows;
  if (stored === undefined) throw new Error("the upsert of a knowledge source returned no row");
  return stored;
}

export async function listSources(database: Database, workspaceId: string, botId: string): Promise<Source[]> {
  const { rows } = await database.query<Source>(
    `SELECT ${SOURCE} FROM conversation.knowledge_sources WHERE workspace_id = $1 AND bot_id = $2 ORDER BY name`,
    [workspaceId, botId],
  );
  return rows;
}

/** Deletes a document. Foreign keys delete its chunks and words. Returns false if the bot has no document of this name. */
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
