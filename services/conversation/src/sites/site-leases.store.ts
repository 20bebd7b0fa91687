import { type Connection, type Database, type Queryable, transaction } from "@parley/service-kit";
import { recordKnowledgeFailed } from "../events/index.ts";
import { LeaseLost } from "./crawl.ts";
import { type ClaimedSite, CONFIRM_MINUTES, type RunResult } from "./site.ts";
import { PLANNED_RUN, START_RUN } from "./sites.store.ts";

/** Another replica continues a crawl this long after its process was killed. */
export const LEASE_SECONDS = 30;
const LEASE = `interval '${LEASE_SECONDS} seconds'`;

/** Starts the runs that are due. */
export async function startDueRuns(database: Database): Promise<void> {
  await database.query(
    `UPDATE conversation.knowledge_sites AS s SET ${START_RUN} WHERE s.next_run_at <= now() AND s.state NOT IN ('crawling', 'removing')`,
  );
}

// A workspace has one leased site at a time, and the site whose last lease ended first is next. So no workspace waits for all sites of another.
const CLAIM_SITE = `
  UPDATE conversation.knowledge_sites AS claimed
  SET lease_holder = gen_random_uuid(), leased_until = now() + ${LEASE}
  FROM conversation.bots b
  WHERE b.workspace_id = claimed.workspace_id AND b.bot_id = claimed.bot_id AND (claimed.workspace_id, claimed.site_id) = (
    SELECT s.workspace_id, s.site_id FROM conversation.knowledge_sites s
    JOIN conversation.bots owner ON owner.workspace_id = s.workspace_id AND owner.bot_id = s.bot_id
    WHERE s.state IN ('crawling', 'removing') AND s.leased_until <= now() AND owner.deleted_at IS NULL
      AND NOT EXISTS (SELECT FROM conversation.workspace_deletions d WHERE d.workspace_id = s.workspace_id)
      AND NOT EXISTS (
        SELECT FROM conversation.knowledge_sites other
        WHERE other.workspace_id = s.workspace_id AND other.lease_holder IS NOT NULL AND other.leased_until > now()
      )
    ORDER BY s.leased_until
    LIMIT 1
    FOR NO KEY UPDATE OF s SKIP LOCKED
  )
  RETURNING claimed.workspace_id AS "workspaceId", claimed.bot_id AS "botId", b.slug AS "botSlug", site_id AS id, url, include, exclude,
            max_pages AS "maxPages", refresh_minutes AS "refreshMinutes", single_page AS "isSinglePage", state, run, seeded AS "isSeeded", lease_holder AS holder`;

/** Leases a site that is to be crawled or removed. Returns undefined if there is none. */
export async function claimSite(database: Database): Promise<ClaimedSite | undefined> {
  const { rows } = await database.query<ClaimedSite>(CLAIM_SITE);
  return rows[0];
}

const HELD = "workspace_id = $1 AND site_id = $2 AND lease_holder = $3";

/** Renews a lease. Throws LeaseLost if this process no longer holds it. The row stays locked until the end of a transaction. */
export async function renewLease(database: Queryable, { workspaceId, id, holder }: ClaimedSite): Promise<void> {
  const { rowCount } = await database.query(
    `UPDATE conversation.knowledge_sites SET leased_until = now() + ${LEASE} WHERE ${HELD}`,
    [workspaceId, id, holder],
  );
  if (rowCount !== 1) throw new LeaseLost("the lease of the site is lost");
}

/** Runs `work` in a transaction that fails with LeaseLost if this process no longer holds the lease. */
export function withLease<T>(
  database: Database,
  site: ClaimedSite,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return transaction(database, async (connection) => {
    await renewLease(connection, site);
    return work(connection);
  });
}

/** Ends a lease. Any process may claim the site after `pauseSeconds`. */
export async function releaseLease(
  database: Database,
  { workspaceId, id, holder }: ClaimedSite,
  pauseSeconds: number,
): Promise<void> {
  await database.query(
    `UPDATE conversation.knowledge_sites SET lease_holder = NULL, leased_until = now() + make_interval(secs => $4) WHERE ${HELD}`,
    [workspaceId, id, holder, pauseSeconds],
  );
}

export async function storeSeeded(connection: Connection, { workspaceId, id }: ClaimedSite): Promise<void> {
  await connection.query(
    "UPDATE conversation.knowledge_sites SET seeded = true WHERE workspace_id = $1 AND site_id = $2",
    [workspaceId, id],
  );
}

const READ_FAILURE = `
  SELECT count(source_id)::integer AS documents,
         count(*) FILTER (WHERE outcome = 'failed' AND run = $3)::integer AS failed,
         coalesce(bool_or(gone_since >= (
           SELECT started_at FROM conversation.knowledge_sites s WHERE s.workspace_id = $1 AND s.site_id = $2
         )), false) AS "needsConfirmation",
         (array_agg(code ORDER BY (code = 'knowledge_limit_reached') DESC, depth, url) FILTER (WHERE outcome = 'failed' AND run = $3))[1] AS code,
         (array_agg(reason ORDER BY (code = 'knowledge_limit_reached') DESC, depth, url) FILTER (WHERE outcome = 'failed' AND run = $3))[1] AS reason
  FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $2`;

type Failure = {
  documents: number;
  failed: number;
  needsConfirmation: boolean;
  code: string | null;
  reason: string | null;
};

/**
 * Ends a run, and plans the next one. A run that did not fail as a whole is complete, even if some of its pages failed. Records one event
 * if anything failed, and returns the result.
 * @param failure why the run failed as a whole
 */
export function finishRun(
  database: Database,
  site: ClaimedSite,
  failure?: { code: string; reason: string },
): Promise<RunResult> {
  const { workspaceId, id, run, botSlug, url, isSinglePage } = site;
  return withLease(database, site, async (connection) => {
    const { rows } = await connection.query<Failure>(READ_FAILURE, [workspaceId, id, run]);
    const [pages] = rows as [Failure];
    const hasFailed = failure !== undefined || pages.documents === 0 || (isSinglePage && pages.failed > 0);
    const isLimited = pages.code === "knowledge_limit_reached";
    const empty = { code: pages.code ?? "no_pages", reason: pages.reason ?? "no page of the site has text to add" };
    const shown = failure ?? (hasFailed || isLimited ? empty : { code: "", reason: "" });
    await connection.query(
      `UPDATE conversation.knowledge_sites
       SET state = $3, ended_at = now(), failure_code = $4, failure = $5, lease_holder = NULL, leased_until = now(),
           next_run_at = least(
             ${PLANNED_RUN},
             CASE WHEN $6 THEN now() + make_interval(mins => ${CONFIRM_MINUTES + 1}) ELSE 'infinity' END
           )
       WHERE workspace_id = $1 AND site_id = $2`,
      [workspaceId, id, hasFailed ? "failed" : "complete", shown.code, shown.reason, pages.needsConfirmation],
    );
    if (!hasFailed && pages.failed === 0) return "complete";
    const code = shown.code || (pages.code ?? "failed");
    const failed = { workspaceId, botSlug, name: url, code, isRefresh: run > 1 };
    await recordKnowledgeFailed(connection, isSinglePage ? failed : { ...failed, siteId: id });
    return hasFailed ? "failed" : "incomplete";
  });
}
