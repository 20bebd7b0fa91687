import { type Database, type Queryable, transaction, workspaceTransaction } from "@parley/service-kit";
import type { BotRef } from "../bots/index.ts";
import { CONFIRM_MINUTES, MAX_SITES, type Site, type SiteRef, type SiteSettings } from "./site.ts";

const COUNTS = `
  count(p.url)::integer AS found,
  count(*) FILTER (WHERE p.run < s.run)::integer AS waiting,
  count(p.source_id)::integer AS documents,
  ${["added", "changed", "unchanged", "duplicate", "moved", "skipped", "missing", "removed", "failed"]
    .map((outcome) => `count(*) FILTER (WHERE p.outcome = '${outcome}' AND p.run = s.run)::integer AS ${outcome}`)
    .join(", ")}`;

const SELECT_SITES = `
  SELECT s.site_id AS id, s.url, s.include, s.exclude, s.max_pages AS "maxPages", s.refresh_minutes AS "refreshMinutes", s.single_page AS "isSinglePage", s.state,
         s.started_at AS "startedAt", s.ended_at AS "endedAt", nullif(s.next_run_at, 'infinity') AS "nextRunAt",
         s.failure_code AS "failureCode", s.failure,
         (SELECT to_jsonb(counts) FROM (
           SELECT ${COUNTS} FROM conversation.knowledge_pages p WHERE p.workspace_id = s.workspace_id AND p.site_id = s.site_id
         ) counts) AS counts
  FROM conversation.knowledge_sites s
  WHERE s.workspace_id = $1 AND s.bot_id = $2`;

/** Lists a bot's sites, ordered by URL. */
export async function listSites(database: Queryable, { workspaceId, botId }: BotRef): Promise<Site[]> {
  const { rows } = await database.query<Site>(`${SELECT_SITES} ORDER BY s.url`, [workspaceId, botId]);
  return rows;
}

/** Returns undefined if the bot has no such site. */
export async function findSite(database: Queryable, { workspaceId, botId, id }: SiteRef): Promise<Site | undefined> {
  const { rows } = await database.query<Site>(`${SELECT_SITES} AND s.site_id = $3`, [workspaceId, botId, id]);
  return rows[0];
}

/** SQL that starts the next run of a site. A process that still works on the previous run loses its lease. */
export const START_RUN = `state = 'crawling', run = s.run + 1, started_at = now(), ended_at = NULL, next_run_at = 'infinity', seeded = false,
  failure_code = '', failure = '', lease_holder = NULL, leased_until = now()`;

/** SQL for the time of the next planned run, which is at least one interval after the start of the last one. */
export const PLANNED_RUN = `
  CASE WHEN refresh_minutes = 0 THEN 'infinity'
       WHEN started_at + make_interval(mins => refresh_minutes) > now() THEN started_at + make_interval(mins => refresh_minutes)
       ELSE now() + make_interval(mins => refresh_minutes) END`;

const PUT_SITE = `
  INSERT INTO conversation.knowledge_sites AS s
    (workspace_id, bot_id, url, include, exclude, max_pages, refresh_minutes, single_page, state)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'crawling')
  ON CONFLICT (workspace_id, bot_id, url, single_page) DO UPDATE
    SET include = excluded.include, exclude = excluded.exclude, max_pages = excluded.max_pages,
        refresh_minutes = excluded.refresh_minutes, ${START_RUN}
    WHERE s.state <> 'removing'
  RETURNING site_id AS id`;

/**
 * Adds a site, or changes the settings of the bot's site with this URL, and starts a run. Returns `removing` if the site is being removed, and
 * `too_many` if the workspace has too many sites.
 */
export async function putSite(
  database: Database,
  { workspaceId, botId }: BotRef,
  { url, include, exclude, maxPages, refreshMinutes, isSinglePage }: SiteSettings,
): Promise<Site | "removing" | "too_many"> {
  const key = { table: "conversation.knowledge_sites", workspaceId };
  return workspaceTransaction(database, key, async (connection) => {
    const { rows: counted } = await connection.query<{ others: number }>(
      `SELECT count(*) FILTER (WHERE NOT (bot_id = $2 AND url = $3 AND single_page = $4))::integer AS others
       FROM conversation.knowledge_sites WHERE workspace_id = $1`,
      [workspaceId, botId, url, isSinglePage],
    );
    if ((counted[0]?.others ?? 0) >= MAX_SITES) return "too_many";
    const values = [workspaceId, botId, url, include, exclude, maxPages, refreshMinutes, isSinglePage];
    const { rows } = await connection.query<{ id: number }>(PUT_SITE, values);
    const [stored] = rows;
    if (stored === undefined) return "removing";
    // The run finds these URLs again. Those that other patterns leave out now would take the places of others, up to the site's bound.
    await connection.query(
      "DELETE FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $2 AND source_id IS NULL AND url <> $3",
      [workspaceId, stored.id, url],
    );
    // With other patterns, an unchanged page may have other links to follow.
    await connection.query(
      "UPDATE conversation.knowledge_pages SET etag = '', last_modified = '', attempts = 0 WHERE workspace_id = $1 AND site_id = $2",
      [workspaceId, stored.id],
    );
    return (await findSite(connection, { workspaceId, botId, id: stored.id })) ?? "removing";
  });
}

const MEASURE_SITES = `
  SELECT coalesce(extract(epoch FROM now() - min(since) FILTER (WHERE since <= now())), 0)::float8 AS "oldestSeconds",
         count(*) FILTER (WHERE ended_at > now() - interval '6 hours')::integer AS crawled,
         count(*) FILTER (WHERE ended_at > now() - interval '6 hours' AND state = 'failed')::integer AS failed
  FROM (
    SELECT s.state, s.ended_at, CASE WHEN s.state IN ('crawling', 'removing') THEN s.leased_until ELSE s.next_run_at END AS since
    FROM conversation.knowledge_sites s
    JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
    WHERE b.deleted_at IS NULL AND NOT EXISTS (SELECT FROM conversation.workspace_deletions d WHERE d.workspace_id = s.workspace_id)
  ) sites`;

type SiteMeasurement = {
  /** How long the site has waited that has waited longest for a crawler. */
  oldestSeconds: number;
  /** Sites whose last run ended within six hours. */
  crawled: number;
  /** Those of them whose last run failed. */
  failed: number;
};

export async function measureSites(database: Queryable): Promise<SiteMeasurement> {
  const { rows } = await database.query<SiteMeasurement>(MEASURE_SITES);
  return rows[0] ?? { oldestSeconds: 0, crawled: 0, failed: 0 };
}

const OF_SITE = "s.workspace_id = $1 AND s.bot_id = $2 AND s.site_id = $3";

const CHANGES = {
  /** Starts a run, unless one is active. */
  refresh: `SET ${START_RUN} WHERE ${OF_SITE} AND s.state NOT IN ('crawling', 'removing')`,
  /** Ends the active run. The next planned one takes place. */
  stop: `
    SET state = 'stopped', ended_at = now(), lease_holder = NULL, leased_until = now(),
        next_run_at = ${PLANNED_RUN}
    WHERE ${OF_SITE} AND s.state = 'crawling'`,
  /** Lets the crawler remove the site and its documents. */
  remove: `
    SET state = 'removing', next_run_at = 'infinity', lease_holder = NULL, leased_until = now()
    WHERE ${OF_SITE} AND s.state <> 'removing'`,
} as const;

/** Changes the state of a site. Returns undefined if the bot has no such site. */
export function changeSite(
  database: Database,
  { workspaceId, botId, id }: SiteRef,
  change: keyof typeof CHANGES,
): Promise<Site | undefined> {
  return transaction(database, async (connection) => {
    const statement = `UPDATE conversation.knowledge_sites AS s ${CHANGES[change]}`;
    await connection.query(statement, [workspaceId, botId, id]);
    return findSite(connection, { workspaceId, botId, id });
  });
}

const PLAN_RUN = `
  UPDATE conversation.knowledge_sites AS s SET next_run_at = least(${PLANNED_RUN}, confirmed_at)
  FROM (
    SELECT coalesce(max(gone_since) + make_interval(mins => ${CONFIRM_MINUTES + 1}), 'infinity') AS confirmed_at
    FROM conversation.knowledge_pages WHERE workspace_id = $1 AND site_id = $3
  ) gone
  WHERE ${OF_SITE} AND s.state NOT IN ('crawling', 'removing')`;

/** Changes the interval of a site's planned runs. An active run continues. Returns undefined if the bot has no such site. */
export function scheduleSite(
  database: Database,
  { workspaceId, botId, id }: SiteRef,
  refreshMinutes: number,
): Promise<Site | undefined> {
  return transaction(database, async (connection) => {
    const statement = `UPDATE conversation.knowledge_sites AS s SET refresh_minutes = $4 WHERE ${OF_SITE}`;
    await connection.query(statement, [workspaceId, botId, id, refreshMinutes]);
    await connection.query(PLAN_RUN, [workspaceId, botId, id]);
    return findSite(connection, { workspaceId, botId, id });
  });
}
