import {
  type Connection,
  type Database,
  type Queryable,
  ServiceError,
  sqlState,
  transaction,
} from "@parley/service-kit";
import type { BotRef } from "../bots/index.ts";
import type { Format, IndexedChunk, IndexedDocument, LanguageName } from "../documents/index.ts";
import { type KnowledgeLimits, type KnowledgeUsage, requireRoom, type UsageWithout } from "./knowledge-limits.ts";

const UNIQUE_VIOLATION = "23505";

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
  /** Whether readSourceText returns the text as it was added. */
  hasText: boolean;
};

export type NewSource = {
  workspaceId: string;
  botId: string;
  name: string;
  format: Format;
  language: LanguageName;
  url: string;
  document: IndexedDocument;
  /** The text as it was added; undefined if it is not stored. */
  text?: string | undefined;
  /** If set, the source is stored only if it exists with this `updatedAt`, in the form of Date.toISOString. */
  expectedUpdatedAt?: string | undefined;
};

/** Identifies a source by its name. */
export type SourceRef = Pick<NewSource, "workspaceId" | "botId" | "name">;

// SQL expressions of a source with the alias s. The column `embedded` counts embeddings of the content that was stored at the time `embedding_of`. If that content has been replaced since, the
// result is 0.
const SOURCE = `source_id AS id, name, format, language, url, characters, chunks, updated_at AS "updatedAt",
  embedding_model AS "embeddingModel", CASE WHEN embedding_of = updated_at THEN embedded ELSE 0 END AS embedded`;
const selectText = (expression: string) => `
  SELECT ${expression} FROM conversation.source_texts t
  WHERE t.workspace_id = s.workspace_id AND t.source_id = s.source_id`;
// For EXISTS, PostgreSQL may read the whole table instead of one row for each source.
const SOURCE_WITH_TEXT = `${SOURCE}, (${selectText("true")}) IS NOT NULL AS "hasText"`;

const PUT_SOURCE = `
  INSERT INTO conversation.knowledge_sources AS s (workspace_id, bot_id, name, format, language, url, characters, chunks, updated_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now())
  ON CONFLICT (workspace_id, bot_id, name) DO UPDATE
    SET format = excluded.format, language = excluded.language, url = excluded.url,
        characters = excluded.characters, chunks = excluded.chunks, updated_at = now()
  RETURNING ${SOURCE}`;

// Stores chunks. Returns, for each lexeme, how many of them contain it.
const INSERT_CHUNKS = `
  WITH stored AS (
    INSERT INTO conversation.knowledge_chunks (workspace_id, bot_id, source_id, position, heading, content, terms)
    SELECT $1, $2::uuid, $3, $11 + position, heading, content,
           array_to_tsvector(ARRAY['bot:' || $2::uuid])
           || setweight(to_tsvector(dictionary, innermost_heading), 'A')
           || setweight(to_tsvector(dictionary, outer_headings), 'B')
           || to_tsvector(dictionary, words)
           || setweight(to_tsvector(dictionary, code), 'C')
    FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[])
           WITH ORDINALITY AS chunk (heading, content, innermost_heading, outer_headings, words, code, position),
         CAST('pg_catalog.' || $4::text AS regconfig) AS dictionary
    RETURNING workspace_id, terms
  )
  SELECT lexeme, count(*) AS chunks FROM stored, unnest(tsvector_to_array(terms)) AS lexeme WHERE workspace_id = $1 GROUP BY lexeme`;

const READ_LEXEMES = `
  SELECT word, lexeme
  FROM unnest($2::text[]) AS word,
       CAST('pg_catalog.' || $1::text AS regconfig) AS dictionary,
       unnest(tsvector_to_array(to_tsvector(dictionary, word))) AS lexeme`;

const INSERT_WORDS = `
  INSERT INTO conversation.knowledge_words (workspace_id, bot_id, source_id, word, lexeme, chunks)
  SELECT $1, $2, $3, word, lexeme, chunks FROM unnest($4::text[], $5::text[], $6::integer[]) AS stored (word, lexeme, chunks)`;

/** Stores a document in one transaction, as storeSource does. */
export function putSource(database: Database, source: NewSource, limits: KnowledgeLimits): Promise<Source> {
  return transaction(database, (connection) => storeSource(connection, source, limits));
}

/**
 * Stores a document, unless it exceeds a limit (requireRoom), and replaces the bot's document of the same name. Needs a transaction, and uses
 * separate statements for each piece (some of the document's chunks or words), because a single statement for a large document would exceed the
 * statement timeout.
 */
export async function storeSource(connection: Connection, source: NewSource, limits: KnowledgeLimits): Promise<Source> {
  await requireExpected(connection, source);
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
  await replaceText(connection, source, stored.id);
  return { ...stored, hasText: source.text !== undefined };
}

/** Locks the source's row. Throws source_changed if the source does not have the expected time. */
async function requireExpected(
  connection: Connection,
  { workspaceId, botId, name, expectedUpdatedAt }: NewSource,
): Promise<void> {
  if (expectedUpdatedAt === undefined) return;
  const { rows } = await connection.query<{ updatedAt: Date }>(
    `SELECT updated_at AS "updatedAt" FROM conversation.knowledge_sources
     WHERE workspace_id = $1 AND bot_id = $2 AND name = $3 FOR NO KEY UPDATE`,
    [workspaceId, botId, name],
  );
  if (rows[0]?.updatedAt.toISOString() === expectedUpdatedAt) return;
  throw new ServiceError("failed_precondition", "source_changed", "the document was replaced or removed since");
}

async function replaceText(connection: Connection, { workspaceId, text }: NewSource, sourceId: number): Promise<void> {
  await connection.query("DELETE FROM conversation.source_texts WHERE workspace_id = $1 AND source_id = $2", [
    workspaceId,
    sourceId,
  ]);
  if (text === undefined) return;
  await connection.query(
    "INSERT INTO conversation.source_texts (workspace_id, source_id, content) VALUES ($1, $2, $3)",
    [workspaceId, sourceId, text],
  );
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
  { workspaceId, botId, name }: SourceRef,
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

async function upsertSource(connection: Connection, source: NewSource): Promise<Omit<Source, "hasText">> {
  const { workspaceId, botId, name, format, language, url } = source;
  const { characters, chunkCount } = source.document;
  const values = [workspaceId, botId, name, format, language, url, characters, chunkCount];
  const { rows } = await connection.query<Omit<Source, "hasText">>(PUT_SOURCE, values);
  const [stored] = rows;
  if (stored === undefined) throw new Error("the upsert of a knowledge source returned no row");
  return stored;
}

export type SourcePage = {
  /** A part of the names, in upper or lower case; empty for all sources. */
  query: string;
  /** The last name of the previous page; undefined for the first page. */
  after: string | undefined;
  limit: number;
};

const MATCHES = `
  FROM conversation.knowledge_sources s
  WHERE s.workspace_id = $1 AND s.bot_id = $2 AND ($3 = '' OR strpos(lower(s.name), lower($3)) > 0)`;

/** Lists a page of a bot's documents, ordered by name. */
export async function listSources(
  database: Database,
  { workspaceId, botId }: BotRef,
  { query, after, limit }: SourcePage,
): Promise<Source[]> {
  const { rows } = await database.query<Source>(
    `SELECT ${SOURCE_WITH_TEXT} ${MATCHES} AND ($4::text IS NULL OR s.name > $4) ORDER BY s.name LIMIT $5`,
    [workspaceId, botId, query, after ?? null, limit],
  );
  return rows;
}

/** Returns the number of the bot's documents whose name contains `query`. */
export async function countSources(database: Database, { workspaceId, botId }: BotRef, query: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>(`SELECT count(*)::integer AS count ${MATCHES}`, [
    workspaceId,
    botId,
    query,
  ]);
  return rows[0]?.count ?? 0;
}

const BY_NAME = "FROM conversation.knowledge_sources s WHERE s.workspace_id = $1 AND s.bot_id = $2 AND s.name = $3";

/** Returns undefined if the bot has no document of this name. */
export async function findSource(
  database: Database,
  { workspaceId, botId, name }: SourceRef,
): Promise<Source | undefined> {
  const { rows } = await database.query<Source>(`SELECT ${SOURCE_WITH_TEXT} ${BY_NAME}`, [workspaceId, botId, name]);
  return rows[0];
}

/** Returns the document and its text as it was added: null if it is not stored. Returns undefined if the bot has no document of this name. */
export async function readSourceText(
  database: Database,
  { workspaceId, botId, name }: SourceRef,
): Promise<(Source & { text: string | null }) | undefined> {
  const { rows } = await database.query<Source & { text: string | null }>(
    `SELECT ${SOURCE_WITH_TEXT}, (${selectText("t.content")}) AS text ${BY_NAME}`,
    [workspaceId, botId, name],
  );
  return rows[0];
}

/** A chunk of a document. `position` is its place in the document. */
export type SourcePassage = { position: number; heading: string; text: string };

/** Lists a page of a document's chunks, in the order of the document. */
export async function listPassages(
  database: Database,
  { workspaceId, id }: { workspaceId: string; id: number },
  { after, limit }: { after: number; limit: number },
): Promise<SourcePassage[]> {
  const { rows } = await database.query<SourcePassage>(
    `SELECT position, heading, content AS text FROM conversation.knowledge_chunks
     WHERE workspace_id = $1 AND source_id = $2 AND position > $3 ORDER BY position LIMIT $4`,
    [workspaceId, id, after, limit],
  );
  return rows;
}

/**
 * Renames a document, also in the cases of the bot's evaluation. Returns `exists` if another document of the bot has the new name, and
 * undefined if the bot has no document with the old name.
 */
export async function renameSource(
  database: Database,
  source: SourceRef,
  newName: string,
): Promise<Source | "exists" | undefined> {
  const { workspaceId, botId, name } = source;
  if (newName === name) return findSource(database, source);
  try {
    return await transaction(database, async (connection) => {
      const { rows } = await connection.query<Source>(
        `UPDATE conversation.knowledge_sources AS s SET name = $4
         WHERE workspace_id = $1 AND bot_id = $2 AND name = $3 RETURNING ${SOURCE_WITH_TEXT}`,
        [workspaceId, botId, name, newName],
      );
      await connection.query(
        "UPDATE conversation.evaluation_cases SET document = $4 WHERE workspace_id = $1 AND bot_id = $2 AND document = $3",
        [workspaceId, botId, name, newName],
      );
      return rows[0];
    });
  } catch (error) {
    if (sqlState(error) === UNIQUE_VIOLATION) return "exists";
    throw error;
  }
}

/** Deletes a document. Foreign keys delete its chunks, words and text. Returns false if the bot has no document of this name. */
export async function deleteSource(database: Database, { workspaceId, botId, name }: SourceRef): Promise<boolean> {
  const { rowCount } = await database.query(
    "DELETE FROM conversation.knowledge_sources WHERE workspace_id = $1 AND bot_id = $2 AND name = $3",
    [workspaceId, botId, name],
  );
  return rowCount === 1;
}
