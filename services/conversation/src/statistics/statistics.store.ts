import type { Database } from "@parley/service-kit";
import { IS_ANSWERED, IS_CITED, IS_FOUND_BUT_DECLINED, IS_UNANSWERED } from "../turns/index.ts";
import { FIRST_TOKEN_BOUNDS_MS } from "./first-token-times.ts";

/** The indexes of the buckets: one for each bound, and a last one for longer times. */
const BUCKETS = [0, ...FIRST_TOKEN_BOUNDS_MS].map((_, bucket) => bucket);
const BOUNDS = `ARRAY[${FIRST_TOKEN_BOUNDS_MS.join(", ")}]`;
const FIRST_TOKENS = BUCKETS.map(
  (bucket) =>
    `count(*) FILTER (WHERE t.first_token_ms > 0 AND width_bucket(t.first_token_ms, ${BOUNDS}) = ${bucket})::integer`,
).join(", ");

// Always counts whole hours, so that repeated and concurrent runs store the same counts.
const COUNT_HOURS = `
  INSERT INTO conversation.reply_counts (workspace_id, hour, replies, grounded, ungrounded, cited, declined, first_tokens)
  SELECT t.workspace_id, date_bin('1 hour', t.closed_at, '2000-01-01Z') AS hour, count(*), count(*) FILTER (WHERE ${IS_ANSWERED}),
         count(*) FILTER (WHERE ${IS_UNANSWERED}), count(*) FILTER (WHERE ${IS_CITED}), count(*) FILTER (WHERE ${IS_FOUND_BUT_DECLINED}),
         ARRAY[${FIRST_TOKENS}]
  FROM conversation.turns t
  WHERE t.status = 'done' AND t.closed_at >= $1 AND t.closed_at < $2
  GROUP BY 1, 2
  ORDER BY 1, 2
  ON CONFLICT (workspace_id, hour) DO UPDATE
    SET replies = excluded.replies, grounded = excluded.grounded, ungrounded = excluded.ungrounded,
        cited = excluded.cited, declined = excluded.declined, first_tokens = excluded.first_tokens
    WHERE reply_counts.replies <> excluded.replies`;

/** Counts and stores every workspace's replies by hour. `from` and `to` are full hours; `to` is not included. */
export async function countRepliesByHour(database: Database, from: Date, to: Date): Promise<void> {
  await database.query({ name: "count_hours", text: COUNT_HOURS, values: [from, to] });
}

export async function deleteCountsBefore(database: Database, time: Date): Promise<void> {
  await database.query("DELETE FROM conversation.reply_counts WHERE hour < $1", [time]);
}

export type DayCounts = {
  /** The day in UTC, "YYYY-MM-DD". */
  day: string;
  replies: number;
  /** Replies whose prompt had passages, and which answered. Replies that an old Parley version stored are in neither `grounded` nor `ungrounded`. */
  grounded: number;
  /** Replies whose prompt had no passages, or in which the model said that it has no answer. */
  ungrounded: number;
  /** Those of `grounded` that cite a passage. */
  cited: number;
  /** Those of `ungrounded` whose prompt had passages. */
  declined: number;
};

/** Counts a workspace's replies by day, oldest first, for the last `days` UTC days including today. Omits days without replies. */
export async function readDays(database: Database, workspaceId: string, days: number): Promise<DayCounts[]> {
  const { rows } = await database.query<DayCounts>(
    `SELECT to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, sum(replies)::integer AS replies,
            sum(grounded)::integer AS grounded, sum(ungrounded)::integer AS ungrounded,
            sum(cited)::integer AS cited, sum(declined)::integer AS declined
     FROM conversation.reply_counts
     WHERE workspace_id = $1 AND hour >= ${startSql("$2")}
     GROUP BY 1 ORDER BY 1`,
    [workspaceId, days],
  );
  return rows;
}

/** Returns how many replies of the last `days` UTC days had their first token in each bucket. */
export async function readFirstTokenHistogram(
  database: Database,
  workspaceId: string,
  days: number,
): Promise<number[]> {
  const { rows } = await database.query<{ count: number }>(
    `SELECT sum(each.count)::integer AS count
     FROM conversation.reply_counts, unnest(first_tokens) WITH ORDINALITY AS each (count, number)
     WHERE workspace_id = $1 AND hour >= ${startSql("$2")}
     GROUP BY each.number ORDER BY each.number`,
    [workspaceId, days],
  );
  return rows.map(({ count }) => count);
}

export type WeekComparison = { workspaceId: string; lastWeek: number; weekBefore: number };

const HOURS_PER_WEEK = 168;

// The newer period ends with the current hour, of which a part has not passed yet.
const COMPARE_WEEKS = `
  SELECT workspace_id AS "workspaceId",
         coalesce(sum(replies) FILTER (WHERE hour >= last_week.start), 0)::integer AS "lastWeek",
         coalesce(sum(replies) FILTER (WHERE hour < last_week.start), 0)::integer AS "weekBefore"
  FROM conversation.reply_counts,
       (SELECT date_bin('1 hour', now(), '2000-01-01Z') - make_interval(hours => ${HOURS_PER_WEEK - 1}) AS start) last_week
  WHERE workspace_id = ANY ($1) AND hour >= last_week.start - make_interval(hours => ${HOURS_PER_WEEK})
  GROUP BY workspace_id
  ORDER BY workspace_id`;

/** Counts the replies of each workspace in the last 7 days and in the 7 days before. Omits workspaces without replies in both. */
export async function compareWeeks(database: Database, workspaceIds: readonly string[]): Promise<WeekComparison[]> {
  const { rows } = await database.query<WeekComparison>(COMPARE_WEEKS, [workspaceIds]);
  return rows;
}

export type RatedSessions = { up: number; down: number };

/** Bounds the query's time. */
const MAX_RATED_SESSIONS = 10_000;

/** Counts the sessions of the last `days` UTC days by rating, at most 10,000 per rating. A session with both ratings counts as `down`. */
export async function countRatedSessions(
  database: Database,
  workspaceId: string,
  days: number,
): Promise<RatedSessions> {
  // One subquery per count, because each uses an index of its own.
  const count = (condition: string) =>
    `(SELECT count(*)::integer FROM (
        SELECT FROM conversation.sessions
        WHERE workspace_id = $1 AND last_activity_at >= ${startSql("$2")} AND ${condition}
          AND deleted_at IS NULL AND erased_at IS NULL
        ORDER BY last_activity_at DESC
        LIMIT ${MAX_RATED_SESSIONS}
      ) session)`;
  const { rows } = await database.query<RatedSessions>(
    `SELECT ${count("ratings_up > 0 AND ratings_down = 0")} AS up, ${count("ratings_down > 0")} AS down`,
    [workspaceId, days],
  );
  return rows[0] ?? { up: 0, down: 0 };
}

/** SQL for the start of the last `days` UTC days, including today. */
const startSql = (days: string) =>
  `(date_trunc('day', now() AT TIME ZONE 'UTC') - make_interval(days => ${days}::integer - 1)) AT TIME ZONE 'UTC'`;
