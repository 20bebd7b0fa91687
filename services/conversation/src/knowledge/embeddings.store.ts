import { type Database, transaction } from "@parley/service-kit";
import type { Passage } from "../turns/index.ts";

/** A source whose chunks are being embedded by this process alone. */
export type ClaimedSource = { workspaceId: string; botId: string; sourceId: number };

/** A chunk that is not a vector yet. */
export type UnembeddedChunk = { id: number; heading: string; text: string };

/** How long a source that was claimed, or last added to, is left to whoever did; far longer than a batch takes. */
const CLAIM = "interval '60 seconds'";

/** Whether the database can compare vectors: pgvector is there, and where the service's role finds it. */
export async function hasPgvector(database: Database): Promise<boolean> {
  const { rows } = await database.query<{ there: boolean }>("SELECT to_regtype('vector') IS NOT NULL AS there");
  return rows[0]?.there === true;
}

const IS_CURRENT = "embedding_model = $1 AND embedding_of IS NOT DISTINCT FROM updated_at";

const CLAIM_SOURCE = `
  UPDATE conversation.knowledge_sources
  SET embedding_until = now() + ${CLAIM}, embedding_model = $1, embedding_of = updated_at,
      embedded = CASE WHEN ${IS_CURRENT} THEN embedded ELSE 0 END
  WHERE (workspace_id, source_id) = (
    SELECT workspace_id, source_id FROM conversation.knowledge_sources
    WHERE embedding_until < now() AND NOT (${IS_CURRENT} AND embedded >= chunks)
    ORDER BY embedding_until, updated_at
    LIMIT 1
    FOR NO KEY UPDATE SKIP LOCKED
  )
  RETURNING workspace_id AS "workspaceId", bot_id AS "botId", source_id AS "sourceId"`;

/** Takes a source that has chunks which `model` has not embedded; undefined when none is left that nobody has. */
export async function claimSource(database: Database, model: string): Promise<ClaimedSource | undefined> {
  const { rows } = await database.query<ClaimedSource>(CLAIM_SOURCE, [model]);
  return rows[0];
}

/** The next chunks of a source that are no vectors of this model, in their order. */
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
  FROM unnest($4::bigint[], $5::text[]) AS made (chunk_id, vector)
  JOIN conversation.knowledge_chunks c ON c.workspace_id = $1 AND c.source_id = $2 AND c.chunk_id = made.chunk_id
  ON CONFLICT (workspace_id, chunk_id) DO UPDATE SET model = excluded.model, embedding = excluded.embedding`;

const COUNT_EMBEDDED = `
  UPDATE conversation.knowledge_sources SET embedding_until = now() + ${CLAIM}, embedded = (
    SELECT count(*) FROM conversation.knowledge_chunks c
    JOIN conversation.knowledge_embeddings e ON e.workspace_id = c.workspace_id AND e.chunk_id = c.chunk_id AND e.model = $3
    WHERE c.workspace_id = $1 AND c.source_id = $2
  )
  WHERE workspace_id = $1 AND source_id = $2`;

/** Stores chunks' vectors and counts them; false when the source was replaced or removed meanwhile, and nothing was stored. */
export function storeEmbeddings(
  database: Database,
  { workspaceId, sourceId }: ClaimedSource,
  model: string,
  made: readonly { id: number; vector: readonly number[] }[],
): Promise<boolean> {
  return transaction(database, async (connection) => {
    // The source's row first, as who replaces it does: so the two never wait for each other, and its chunks stay while these are stored.
    const { rowCount } = await connection.query(
      `SELECT FROM conversation.knowledge_sources WHERE workspace_id = $1 AND source_id = $2
         AND embedding_model = $3 AND embedding_of = updated_at
       FOR NO KEY UPDATE`,
      [workspaceId, sourceId, model],
    );
    if (rowCount !== 1) return false;
    const vectors = made.map(({ vector }) => `{${vector.join(",")}}`);
    await connection.query(STORE_EMBEDDINGS, [workspaceId, sourceId, model, made.map(({ id }) => id), vectors]);
    await connection.query(COUNT_EMBEDDED, [workspaceId, sourceId, model]);
    return true;
  });
}

/** Gives a source back: to anyone at once, whatever the clock does, or after a while when it could not be embedded. */
export async function releaseSource(
  database: Database,
  { workspaceId, sourceId }: ClaimedSource,
  afterSeconds: number,
): Promise<void> {
  await database.query(
    `UPDATE conversation.knowledge_sources SET embedding_until = CASE WHEN $3::float8 > 0 THEN now() + make_interval(secs => $3) ELSE '-infinity' END
     WHERE workspace_id = $1 AND source_id = $2`,
    [workspaceId, sourceId, afterSeconds],
  );
}

/** How many chunks of all bots this model has not embedded. */
export async function countUnembedded(database: Database, model: string): Promise<number> {
  const { rows } = await database.query<{ left: number }>(
    `SELECT coalesce(sum(chunks - CASE WHEN ${IS_CURRENT} THEN least(embedded, chunks) ELSE 0 END), 0)::bigint AS left
     FROM conversation.knowledge_sources`,
    [model],
  );
  return rows[0]?.left ?? 0;
}

// Exact, and among the bot's own chunks: an index over all bots' vectors would bring mostly those of others, and miss some of its own.
const NEAREST = `
  WITH near AS (
    SELECT chunk_id, row_number() OVER (ORDER BY distance, chunk_id) AS place
    FROM (
      SELECT chunk_id, embedding::vector <=> $4::text::real[]::vector AS distance
      FROM conversation.knowledge_embeddings
      WHERE workspace_id = $1 AND bot_id = $2 AND model = $3
      ORDER BY distance, chunk_id
      LIMIT $5
    ) nearest
  )
  SELECT c.chunk_id AS id, s.name AS source, c.heading, c.content AS text
  FROM near
  JOIN conversation.knowledge_chunks c ON c.workspace_id = $1 AND c.chunk_id = near.chunk_id
  JOIN conversation.knowledge_sources s ON s.workspace_id = c.workspace_id AND s.source_id = c.source_id
  ORDER BY near.place`;

/** The passages of a bot that mean most nearly what a vector means, the nearest first. */
export async function findNearest(
  database: Database,
  { workspaceId, botId }: { workspaceId: string; botId: string },
  model: string,
  vector: readonly number[],
  limit: number,
): Promise<Passage[]> {
  const values = [workspaceId, botId, model, `{${vector.join(",")}}`, limit];
  const { rows } = await database.query<Passage>({ name: "find_nearest", text: NEAREST, values });
  return rows;
}
