import type { Database } from "@parley/service-kit";

// Always counts whole hours, so that repeated and concurrent runs store the same counts.
const COUNT_BOT_REPLIES_BY_HOUR = `
  INSERT INTO conversation.bot_reply_counts (workspace_id, hour, bot_id, month, replies)
  SELECT t.workspace_id, date_bin('1 hour', t.closed_at, '2000-01-01Z') AS hour, t.bot_id, t.month, count(*)
  FROM conversation.turns t
  WHERE t.status = 'done' AND t.month IS NOT NULL AND t.closed_at >= $1 AND t.closed_at < $2
  GROUP BY 1, 2, 3, 4
  ORDER BY 1, 2, 3, 4
  ON CONFLICT (workspace_id, hour, bot_id, month) DO UPDATE SET replies = excluded.replies
    WHERE bot_reply_counts.replies <> excluded.replies`;

/** `from` and `to` are full hours; `to` is not included. */
export async function countBotRepliesByHour(database: Database, from: Date, to: Date): Promise<void> {
  await database.query({ name: "count_bot_replies_by_hour", text: COUNT_BOT_REPLIES_BY_HOUR, values: [from, to] });
}

export async function deleteBotCountsBefore(database: Database, time: Date): Promise<void> {
  await database.query("DELETE FROM conversation.bot_reply_counts WHERE hour < $1", [time]);
}

export type BotUsage = {
  /** "YYYY-MM" */
  month: string;
  botSlug: string;
  /** Complete replies: those that count against the quota. */
  messages: number;
};

// The hours start a day before the first month. A reply can be closed a moment before the month in which it counts, because quota's database
// assigns the month by its own clock.
const READ_BOT_USAGE = `
  SELECT to_char(c.month, 'YYYY-MM') AS month, b.slug AS "botSlug", sum(c.replies)::integer AS messages
  FROM (SELECT (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => $2::integer - 1))::date AS month) first
  JOIN conversation.bot_reply_counts c
    ON c.workspace_id = $1 AND c.hour >= (first.month - 1)::timestamp AT TIME ZONE 'UTC' AND c.month >= first.month
  JOIN conversation.bots b ON b.workspace_id = c.workspace_id AND b.bot_id = c.bot_id
  GROUP BY c.month, b.slug
  ORDER BY c.month DESC, messages DESC, b.slug`;

/** Counts the replies of each bot by UTC month, newest first, for the last `months` months including the current month. */
export async function readBotUsage(database: Database, workspaceId: string, months: number): Promise<BotUsage[]> {
  const { rows } = await database.query<BotUsage>(READ_BOT_USAGE, [workspaceId, months]);
  return rows;
}
