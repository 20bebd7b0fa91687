import type { Connection, Database, Queryable } from "@parley/service-kit";
import { type KnowledgeLimits, type NewSource, storeSource } from "../knowledge/index.ts";
import { type ClaimedSite, CONFIRM_MINUTES, type PageOutcome, URLS_PER_PAGE } from "./site.ts";

/** A page that waits for its check. */
export type WaitingPage = {
  url: string;
  depth: number;
  sourceId: number | null;
  contentHash: string;
  etag: string;
  lastModified: string;
  attempts: number;
};

/** Returns the next pages to check, those nearest to the first page first. */
export async function listWaiting(
  database: Queryable,
  { workspaceId, id, run }: ClaimedSite,
  limit: number,
): Promise<WaitingPage[]> {
  const { rows } = await database.query<WaitingPage>(
    `SELECT url, depth, source_id AS "sourceId", content_hash AS "contentHash", etag, last_modified AS "lastModified", attempts
     FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $2 AND run < $3 ORDER BY attempts, depth, url LIMIT $4`,
    [workspaceId, id, run, limit],
  );
  return rows;
}

/** Forgets the pages that the previous runs have removed. */
export async function forgetRemoved(database: Queryable, { workspaceId, id }: ClaimedSite): Promise<void> {
  await database.query(
    "DELETE FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $2 AND outcome = 'removed'",
    [workspaceId, id],
  );
}

/** Adds URLs that were not found before, up to the site's bound. */
export async function addPages(
  database: Queryable,
  { workspaceId, id, maxPages }: ClaimedSite,
  urls: readonly string[],
  depth: number,
): Promise<void> {
  if (urls.length === 0) return;
  await database.query(
    `INSERT INTO conversation.knowledge_pages (workspace_id, site_id, url, depth)
     SELECT $1, $2, url, $4 FROM (
       SELECT url FROM unnest($3::text[]) WITH ORDINALITY AS found (url, position)
       WHERE NOT EXISTS (SELECT FROM conversation.knowledge_pages p WHERE p.workspace_id = $1 AND p.site_id = $2 AND p.url = found.url)
       ORDER BY position
       LIMIT greatest(0, $5 - (SELECT count(*) FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $2))
     ) added
     ON CONFLICT DO NOTHING`,
    [workspaceId, id, urls, depth, maxPages * URLS_PER_PAGE],
  );
}

/** What the check of a page has found. */
export type PageResult = {
  outcome: PageOutcome;
  code?: string;
  reason?: string;
  canonical?: string;
  /** New validators of an unchanged page. */
  etag?: string;
  lastModified?: string;
};

/**
 * Whether the page no longer has a text of its own: it is missing, or another page's document has its text. Its document is removed if a check an
 * hour later finds the same. After a temporary redirect, such as to a page about maintenance, it stays.
 */
const IS_GONE = `($5 = 'missing' OR $5 IN ('moved', 'duplicate') AND $6 = '' AND EXISTS (
  SELECT FROM conversation.knowledge_pages other
  WHERE other.workspace_id = $1 AND other.site_id = $2 AND other.url = $8 AND other.source_id IS NOT NULL
))`;
/** Outcomes that show that the page is still there. After a failure, this is unknown. */
const THERE = "('added', 'changed', 'unchanged')";

const RECORD_RESULT = `
  UPDATE conversation.knowledge_pages
  SET run = $4, outcome = $5, code = $6, reason = $7, canonical = $8, attempts = 0, checked_at = now(),
      etag = coalesce($9, etag), last_modified = coalesce($10, last_modified),
      gone_since = CASE
        WHEN source_id IS NULL OR $5 IN ${THERE} THEN NULL
        WHEN ${IS_GONE} THEN coalesce(gone_since, now())
        ELSE gone_since
      END
  WHERE workspace_id = $1 AND site_id = $2 AND url = $3
  RETURNING source_id AS "sourceId", ${IS_GONE} AND gone_since <= now() - interval '${CONFIRM_MINUTES} minutes' AS "isConfirmed"`;

/** Records the result of a check. Removes the document of a page that is gone for an hour. */
export async function recordResult(
  connection: Connection,
  site: ClaimedSite,
  url: string,
  { outcome, code = "", reason = "", canonical = "", etag, lastModified }: PageResult,
): Promise<void> {
  const { workspaceId, id, run } = site;
  const { rows } = await connection.query<{ sourceId: number | null; isConfirmed: boolean | null }>(RECORD_RESULT, [
    ...[workspaceId, id, url, run, outcome, code, reason, canonical],
    ...[etag ?? null, lastModified ?? null],
  ]);
  const [page] = rows;
  if (typeof page?.sourceId === "number" && page.isConfirmed === true)
    await removeDocument(connection, site, { url, isRemoved: outcome === "missing" });
  // If a page named this one as its canonical URL, its own content is used after all.
  if (outcome === "moved" || outcome === "missing")
    await connection.query(
      `UPDATE conversation.knowledge_pages SET run = 0
       WHERE workspace_id = $1 AND site_id = $2 AND canonical = $3 AND outcome = 'duplicate' AND ($4 = '' OR url = $4)`,
      [workspaceId, id, url, canonical],
    );
}

/** Removes the document of a page, unless another site has it too. */
export async function removeDocument(
  connection: Connection,
  { workspaceId, id }: ClaimedSite,
  { url, isRemoved }: { url: string; isRemoved: boolean },
): Promise<void> {
  await connection.query(
    `DELETE FROM conversation.knowledge_sources s
     USING conversation.knowledge_pages p
     WHERE p.workspace_id = $1 AND p.site_id = $2 AND p.url = $3 AND s.workspace_id = p.workspace_id AND s.source_id = p.source_id
       AND NOT EXISTS (
         SELECT FROM conversation.knowledge_pages other
         WHERE other.workspace_id = $1 AND other.source_id = s.source_id AND other.site_id <> $2
       )`,
    [workspaceId, id, url],
  );
  await connection.query(
    `UPDATE conversation.knowledge_pages
     SET source_id = NULL, content_hash = '', etag = '', last_modified = '', gone_since = NULL, changed_at = now(),
         outcome = CASE WHEN $4 THEN 'removed' ELSE outcome END
     WHERE workspace_id = $1 AND site_id = $2 AND url = $3`,
    [workspaceId, id, url, isRemoved],
  );
}

/** Lets a page wait for another attempt in the same run, after pages that were not attempted. */
export async function deferPage(database: Queryable, { workspaceId, id }: ClaimedSite, url: string): Promise<void> {
  await database.query(
    "UPDATE conversation.knowledge_pages SET attempts = attempts + 1 WHERE workspace_id = $1 AND site_id = $2 AND url = $3",
    [workspaceId, id, url],
  );
}

/** Skips the pages that wait and have no document, because the bot can have no more documents. */
export async function skipNewPages(
  database: Queryable,
  { workspaceId, id, run }: ClaimedSite,
  { outcome, code, reason }: Required<Pick<PageResult, "outcome" | "code" | "reason">>,
): Promise<void> {
  await database.query(
    `UPDATE conversation.knowledge_pages SET run = $3, outcome = $4, code = $5, reason = $6, canonical = '', checked_at = now()
     WHERE workspace_id = $1 AND site_id = $2 AND run < $3 AND source_id IS NULL`,
    [workspaceId, id, run, outcome, code, reason],
  );
}

/** Returns how many documents the site has. */
export async function countDocuments(database: Queryable, { workspaceId, id }: ClaimedSite): Promise<number> {
  const { rows } = await database.query<{ documents: number }>(
    "SELECT count(source_id)::integer AS documents FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $2",
    [workspaceId, id],
  );
  return rows[0]?.documents ?? 0;
}

/** Returns what an earlier check of a page has found, and the page that has its content; undefined if the page is unknown. */
export async function findResult(
  database: Queryable,
  { workspaceId, id }: ClaimedSite,
  url: string,
): Promise<{ outcome: PageOutcome | ""; canonical: string } | undefined> {
  const { rows } = await database.query<{ outcome: PageOutcome | ""; canonical: string }>(
    "SELECT outcome, canonical FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $2 AND url = $3",
    [workspaceId, id, url],
  );
  return rows[0];
}

/** Returns another page of the site whose document has this text. */
export async function findEqualPage(
  database: Queryable,
  { workspaceId, id }: ClaimedSite,
  { url, contentHash }: { url: string; contentHash: string },
): Promise<string | undefined> {
  const { rows } = await database.query<{ url: string }>(
    `SELECT url FROM conversation.knowledge_pages
     WHERE workspace_id = $1 AND site_id = $2 AND content_hash = $3 AND url <> $4 AND source_id IS NOT NULL ORDER BY depth, url LIMIT 1`,
    [workspaceId, id, contentHash, url],
  );
  return rows[0]?.url;
}

/** Stores the text of a page as a document. Keeps the name that an owner has given to the page's document. */
export async function storePage(
  connection: Connection,
  { workspaceId, id, run }: ClaimedSite,
  page: { url: string; source: NewSource; contentHash: string; etag: string; lastModified: string },
  limits: KnowledgeLimits,
): Promise<void> {
  const { url, source, contentHash, etag, lastModified } = page;
  const { rows } = await connection.query<{ name: string }>(
    `SELECT s.name FROM conversation.knowledge_pages p
     JOIN conversation.knowledge_sources s ON s.workspace_id = p.workspace_id AND s.source_id = p.source_id
     WHERE p.workspace_id = $1 AND p.site_id = $2 AND p.url = $3`,
    [workspaceId, id, url],
  );
  const stored = await storeSource(connection, { ...source, name: rows[0]?.name ?? source.name }, limits);
  await connection.query(
    `UPDATE conversation.knowledge_pages
     SET run = $4, outcome = CASE WHEN source_id IS NULL THEN 'added' ELSE 'changed' END, code = '', reason = '', canonical = '', source_id = $5,
         content_hash = $6, etag = $7, last_modified = $8, attempts = 0, checked_at = now(), changed_at = now(), gone_since = NULL
     WHERE workspace_id = $1 AND site_id = $2 AND url = $3`,
    [workspaceId, id, url, run, stored.id, contentHash, etag, lastModified],
  );
}

/** Removes one of the site's documents that no other site has. Returns false if there is none. */
export async function removeOneDocument(connection: Connection, { workspaceId, id }: ClaimedSite): Promise<boolean> {
  const { rowCount } = await connection.query(
    `DELETE FROM conversation.knowledge_sources WHERE (workspace_id, source_id) = (
       SELECT p.workspace_id, p.source_id FROM conversation.knowledge_pages p
       WHERE p.workspace_id = $1 AND p.site_id = $2 AND p.source_id IS NOT NULL AND NOT EXISTS (
         SELECT FROM conversation.knowledge_pages other
         WHERE other.workspace_id = $1 AND other.source_id = p.source_id AND other.site_id <> $2
       ) LIMIT 1
     )`,
    [workspaceId, id],
  );
  return rowCount === 1;
}

export async function deleteSite(connection: Connection, { workspaceId, id }: ClaimedSite): Promise<void> {
  await connection.query("DELETE FROM conversation.knowledge_sites WHERE workspace_id = $1 AND site_id = $2", [
    workspaceId,
    id,
  ]);
}

/** A URL that a crawl has found. */
export type Page = {
  url: string;
  outcome: PageOutcome | "";
  isWaiting: boolean;
  code: string;
  reason: string;
  canonical: string;
  /** Null if the page has no document. */
  document: string | null;
  checkedAt: Date | null;
  changedAt: Date | null;
  goneSince: Date | null;
};

export type PageFilter = {
  /** Empty for all. */
  outcome: string;
  after: string;
  limit: number;
};

/** Lists the pages of a site, ordered by URL. */
export async function listPages(
  database: Database,
  { workspaceId, id }: { workspaceId: string; id: number },
  { outcome, after, limit }: PageFilter,
): Promise<Page[]> {
  const { rows } = await database.query<Page>(
    `SELECT p.url, p.outcome, p.run < s.run AS "isWaiting", p.code, p.reason, p.canonical, source.name AS document,
            p.checked_at AS "checkedAt", p.changed_at AS "changedAt", p.gone_since AS "goneSince"
     FROM conversation.knowledge_pages p
     JOIN conversation.knowledge_sites s ON s.workspace_id = p.workspace_id AND s.site_id = p.site_id
     LEFT JOIN conversation.knowledge_sources source ON source.workspace_id = p.workspace_id AND source.source_id = p.source_id
     WHERE p.workspace_id = $1 AND p.site_id = $2 AND p.url > $3
       AND ($4 = '' OR ($4 = 'waiting' AND p.run < s.run) OR p.outcome = $4)
     ORDER BY p.url LIMIT $5`,
    [workspaceId, id, after, outcome, limit],
  );
  return rows;
}
