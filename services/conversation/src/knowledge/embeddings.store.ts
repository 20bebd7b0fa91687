import { type Database, transaction } from "@parley/service-kit";
import type { Passage } from "../turns/index.ts";
import { PASSAGE } from "./knowledge-search.store.ts";

/**
 * A source that this process has leased: no other process embeds its chunks. `leasedUntil` identifies the lease. It changes when this process
 * renews the lease, and when another process takes over the expired lease.
 */
export type ClaimedSource = { workspaceId: string; botId: string; sourceId: number; leasedUntil: string };

/** A chunk without an embedding of the current model. */
export type UnembeddedChunk = { id: number; heading: string; text: string };

/** Lease of a claimed source: longer than the timeout of one embedding call, 60 s. Each stored batch renews it. */
const LEASE = "interval '90 seconds'";

/** Returns whether pgvector is installed in a schema on the role's search path. */
export async function hasPgvector(database: Database): Promise<boolean> {
  const { rows } = await database.query<{ installed: boolean }>("SELECT to_regtype('vector') IS NOT NULL AS installed");
  return rows[0]?.installed === true;
}

/**
 * SQL condition: the count in the column `embedded` is valid for the source's current content and the model $1. `embedding_of` is the
 * `updated_at` of the content that was embedded.
 */
const IS_CURRENT = "embedding_model = $1 AND embedding_of IS NOT DISTINCT FROM updated_at";

const CLAIM_SOURCE = `
  UPDATE conversation.knowledge_sources
  SET embedding_until = now() + ${LEASE}, embedding_model = $1, embedding_of = updated_at,
      embedded = CASE WHEN ${IS_CURRENT} THEN embedded ELSE 0 END
  WHERE (workspace_id, source_id) = (
    SELECT workspace_id, source_id FROM conversation.knowledge_sources
    WHERE embedding_until < now() AND NOT (${IS_CURRENT} AND embedded >= chunks)
    ORDER BY embedding_until, updated_at
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
  )
  RETURNING workspace_id AS "workspaceId", bot_id AS "botId", source_id AS "sourceId", embedding_until::text AS "leasedUntil"`;

/** Leases a source with chunks that `model` has not embedded. Returns undefined if no such source exists or all such sources are leased. */
export async function claimSource(database: Database, model: string): Promise<ClaimedSource | undefined> {
  const { rows } = await database.query<ClaimedSource>(CLAIM_SOURCE, [model]);
  return rows[0];
}

/** Returns the source's next chunks that have no embedding of this model, in document order. */
export async function readUnembedded(
  database: Database,
  { workspaceId, sourceId }: ClaimedSource,
  model: string,
  limit: number,
): Promise<UnembeddedChunk[]> {
  const { rows } = await database.query<UnembeddedChunk>(
    `SELECT c.chunk_id AS id, c.heading, c.content AS text
     FROM conversation.knowledge_chunks c
     LEFT JOIN conversation.knowledge_embeddings e ON e.workspace_id = c.workspace_id AND e.chunk_id = c.chunk_id AND e.model = $3
     WHERE c.workspace_id = $1 AND c.source_id = $2 AND e.chunk_id IS NULL
     ORDER BY c.position
     LIMIT $4`,
    [workspaceId, sourceId, model, limit],
  );
  return rows;
}

const STORE_EMBEDDINGS = `
  INSERT INTO conversation.knowledge_embeddings (workspace_id, bot_id, chunk_id, model, embedding)
  SELECT c.workspace_id, c.bot_id, c.chunk_id, $3, vector::real[]
  FROM unnest($4::bigint[], $5::text[]) AS embedded (chunk_id, vector)
  JOIN conversation.knowledge_chunks c ON c.workspace_id = $1 AND c.source_id = $2 AND c.chunk_id = embedded.chunk_id
  ON CONFLICT (workspace_id, chunk_id) DO UPDATE SET model = excluded.model, embedding = excluded.embedding`;

const RECOUNT_AND_RENEW_LEASE = `
  UPDATE conversation.knowledge_sources SET embedding_until = now() + ${LEASE}, embedded = (
    SELECT count(*) FROM conversation.knowledge_chunks c
    JOIN conversation.knowledge_embeddings e ON e.workspace_id = c.workspace_id AND e.chunk_id = c.chunk_id AND e.model = $3
    WHERE c.workspace_id = $1 AND c.source_id = $2
  )
  WHERE workspace_id = $1 AND source_id = $2
  RETURNING embedding_until::text AS "leasedUntil"`;

/**
 * Stores embeddings, recounts the source's embedded chunks and renews the lease. Returns the source with the renewed lease. Returns undefined
 * and stores nothing if the source was replaced or removed since it was claimed, or if another process has taken its lease over.
 */
export function storeEmbeddings(
  database: Database,
  source: ClaimedSource,
  model: string,
  embeddings: readonly { id: number; vector: readonly number[] }[],
): Promise<ClaimedSource | undefined> {
  const { workspaceId, sourceId, leasedUntil } = source;
  return transaction(database, async (connection) => {
    // Locks the source's row first, as putSource does, to avoid a deadlock. While it is locked, the chunks cannot be replaced.
    const { rowCount } = await connection.query(
      `SELECT FROM conversation.knowledge_sources WHERE workspace_id = $1 AND source_id = $2
         AND embedding_model = $3 AND embedding_of = updated_at AND embedding_until = $4::timestamptz
       FOR NO KEY UPDATE`,
      [workspaceId, sourceId, model, leasedUntil],
    );
    if (rowCount !== 1) return undefined;
    const ids = embeddings.map(({ id }) => id);
    const vectors = embeddings.map(({ vector }) => `{${vector.join(",")}}`);
    await connection.query(STORE_EMBEDDINGS, [workspaceId, sourceId, model, ids, vectors]);
    const { rows } = await connection.query<Pick<ClaimedSource, "leasedUntil">>(RECOUNT_AND_RENEW_LEASE, [
      workspaceId,
      sourceId,
      model,
    ]);
    return { ...source, ...rows[0] };
  });
}

/**
 * Ends a lease after `afterSeconds`. With 0 it ends immediately, even if the database's clock is set back. Changes nothing if another process has
 * taken the lease over.
 */
export async function releaseSource(
  database: Database,
  { workspaceId, sourceId, leasedUntil }: ClaimedSource,
  afterSeconds: number,
): Promise<void> {
  await database.query(
    `UPDATE conversation.knowledge_sources SET embedding_until = CASE WHEN $3::float8 > 0 THEN now() + make_interval(secs => $3) ELSE '-infinity' END
     WHERE workspace_id = $1 AND source_id = $2 AND embedding_until = $4::timestamptz`,
    [workspaceId, sourceId, afterSeconds, leasedUntil],
  );
}

/** Returns the number of chunks, over all bots, that `model` has not embedded. */
export async function countUnembedded(database: Database, model: string): Promise<number> {
  const { rows } = await database.query<{ unembedded: number }>(
    `SELECT coalesce(sum(chunks - CASE WHEN ${IS_CURRENT} THEN least(embedded, chunks) ELSE 0 END), 0)::bigint AS unembedded
     FROM conversation.knowledge_sources`,
    [model],
  );
  return rows[0]?.unembedded ?? 0;
}

// Compares all vectors of the bot. A vector index would cover all bots, so its approximate result would be mostly other bots' chunks.
const NEAREST = `
  SELECT ${PASSAGE}, 1 - near.distance AS similarity
  FROM (
    SELECT chunk_id, embedding::vector <=> $4::text::real[]::vector AS distance
    FROM conversation.knowledge_embeddings
    WHERE workspace_id = $1 AND bot_id = $2 AND model = $3
    ORDER BY distance, chunk_id
    LIMIT $5
  ) near
  JOIN conversation.knowledge_chunks c ON c.workspace_id = $1 AND c.chunk_id = near.chunk_id
  JOIN conversation.knowledge_sources s ON s.workspace_id = c.workspace_id AND s.source_id = c.source_id
  ORDER BY near.distance, near.chunk_id`;

/** A passage that the semantic search found, with its cosine similarity to the message, from -1 to 1. */
export type SimilarPassage = Passage & { similarity: number };

/** Returns the bot's passages with the smallest cosine distance to a vector, nearest first. */
export async function findNearest(
  database: Database,
  { workspaceId, botId }: { workspaceId: string; botId: string },
  model: string,
  vector: readonly number[],
  limit: number,
): Promise<SimilarPassage[]> {
  const values = [workspaceId, botId, model, `{${vector.join(",")}}`, limit];
  const { rows } = await database.query<SimilarPassage>({ name: "find_nearest", text: NEAREST, values });
  return rows;
}
