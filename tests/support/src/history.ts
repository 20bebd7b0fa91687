import { Client } from "pg";

export interface HistoryOptions {
  /** Number of messages; a turn has two. */
  messages: number;
  /** Number of workspaces; 200 by default. Their sizes differ widely. */
  workspaces?: number;
}

export interface History {
  /** Ids of the workspaces, largest first. Each has the bot `assistant`. */
  workspaceIds: string[];
  turns: number;
  /** Duration of `fillHistory`. */
  seconds: number;
}

const LONG_SESSION_TURNS = 3_000;
const OPEN_TURNS = 100;
const UNSENT_SETTLEMENTS = 500;
/** Slightly below the mean number of turns of a generated session, so that there are enough sessions for the requested turns. */
const TURNS_PER_SESSION = 4.4;

/**
 * Fills the schemas conversation, quota and llm, if they exist, with half a year of data of a busy installation. It has many workspaces,
 * short sessions, a very long session, some open turns and some unsent settlements. Usage reconciles with the turns. The SQL generates
 * all rows on the server, so ten million messages take only minutes.
 */
export async function fillHistory(url: string, { messages, workspaces = 200 }: HistoryOptions): Promise<History> {
  const startedAt = performance.now();
  const turns = Math.floor(messages / 2);
  const existingSchemas = await withClient(url, async (client) => {
    const { rows } = await client.query<{ schema: string }>("SELECT nspname AS schema FROM pg_namespace");
    await client.query(generateTurnsSql(turns, workspaces));
    return new Set(rows.map((row) => row.schema));
  });
  const fills = FILLS.filter(({ schema }) => existingSchemas.has(schema));
  await Promise.all(fills.map(({ sql }) => withClient(url, (client) => client.query(sql))));
  await withClient(url, async (client) => {
    await client.query("DROP SCHEMA history CASCADE");
    await client.query(`VACUUM (ANALYZE) ${fills.flatMap(({ tables }) => tables).join(", ")}`);
  });
  return {
    workspaceIds: Array.from({ length: workspaces }, (_, index) => `gen_${index + 1}`),
    turns,
    seconds: (performance.now() - startedAt) / 1_000,
  };
}

async function withClient<T>(url: string, work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("SET synchronous_commit = off; SET work_mem = '128MB'; SET maintenance_work_mem = '256MB'");
    return await work(client);
  } finally {
    await client.end();
  }
}

/**
 * SQL that generates the sessions and turns in the schema `history`. As in the service, a session's message
 * ids start at a random number. The seed makes all runs equal except for the timestamps. Because 7919 and 1000 have no common factor, `n * 7919 % 1000` spreads the statuses evenly over the turns.
 */
const generateTurnsSql = (turns: number, workspaces: number) => `
  CREATE SCHEMA history;
  SELECT setseed(0.5);
  CREATE UNLOGGED TABLE history.sessions AS
    SELECT 'gen_' || (1 + floor(${workspaces} * power(random(), 3)))::integer AS workspace_id,
           md5('session' || number)::uuid AS session_id,
           now() - random() * interval '180 days' AS started_at,
           CASE number WHEN 1 THEN ${LONG_SESSION_TURNS} ELSE 1 + floor(-4 * ln(1 - random()))::integer END AS turns
    FROM generate_series(1, ${Math.ceil(turns / TURNS_PER_SESSION)}) AS number;
  CREATE UNLOGGED TABLE history.turns AS
    SELECT n, workspace_id, session_id, at,
           ${2 ** 50} + 2 * (hashtextextended(session_id::text, 0) & ${2 ** 48 - 1}) + 2 * n AS message_id,
           (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
             || 'a' || substr(md5(n::text), 4, 15))::uuid AS turn_id,
           md5('bot' || workspace_id)::uuid AS bot_id,
           md5('edge' || n % 3)::uuid AS edge_id,
           CASE WHEN n > ${turns - OPEN_TURNS} THEN 'streaming'
                WHEN n * 7919 % 1000 < 920 THEN 'done' WHEN n * 7919 % 1000 < 950 THEN 'error'
                WHEN n * 7919 % 1000 < 965 THEN 'blocked' WHEN n * 7919 % 1000 < 980 THEN 'quota_exceeded'
                ELSE 'cancelled' END AS status,
           date_trunc('month', at AT TIME ZONE 'UTC')::date AS month
    FROM (
      SELECT workspace_id, session_id, at, row_number() OVER (ORDER BY at) AS n
      FROM (
        SELECT s.*, started_at + turn * interval '1 minute' - interval '5 days' AS at
        FROM history.sessions s, generate_series(1, turns) AS turn
      ) spread
    ) ordered
    WHERE n <= ${turns};
  ANALYZE history.turns;`;

/** SQL that fills the tables. The entries run concurrently; tables that reference each other share an entry. */
const FILLS = [
  {
    schema: "conversation",
    tables: ["conversation.bots", "conversation.sessions", "conversation.turns", "conversation.outbox"],
    sql: `
      INSERT INTO conversation.bots (workspace_id, bot_id, slug, settings, display)
        SELECT DISTINCT workspace_id, md5('bot' || workspace_id)::uuid, 'assistant', '{}'::jsonb, '{}'::jsonb FROM history.sessions;
      INSERT INTO conversation.sessions (
          workspace_id, session_id, bot_id, source, visitor_id, visitor_metadata, referrer, user_agent, started_at, last_activity_at,
          last_message_id, message_count, ratings_up, ratings_down
        )
        SELECT workspace_id, session_id, min(bot_id::text)::uuid, CASE WHEN min(n) % 50 = 0 THEN 'playground' ELSE 'widget' END,
               left(session_id::text, 8), '{"plan": "trial"}', '', 'Mozilla/5.0', min(at), max(at), max(message_id),
               2 * count(*),
               (min(n) % 20 = 0)::integer, (min(n) % 40 = 0)::integer
        FROM history.turns GROUP BY workspace_id, session_id;
      INSERT INTO conversation.turns (
          workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, month, asked_model, model, tokens_in, tokens_out,
          latency_ms, first_token_ms, phases, opened_at, closed_at
        )
        SELECT workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status,
               CASE WHEN status IN ('done', 'error', 'cancelled') THEN month END, '', 'openai:default', 200, 80, 1500, 300,
               '[{"name": "open", "microseconds": 3000}, {"name": "tokens", "microseconds": 1200000}]', at,
               CASE WHEN status <> 'streaming' THEN at + interval '2 seconds' END
        FROM history.turns;
      INSERT INTO conversation.outbox (workspace_id, turn_id, outcome, month, created_at)
        SELECT workspace_id, turn_id, CASE status WHEN 'done' THEN 'done' ELSE 'void' END,
               CASE WHEN status IN ('done', 'error', 'cancelled') THEN month END, at + interval '2 seconds'
        FROM history.turns WHERE status NOT IN ('streaming', 'blocked') ORDER BY n DESC LIMIT ${UNSENT_SETTLEMENTS};
      INSERT INTO conversation.edges (edge_id, expires_at)
        SELECT DISTINCT edge_id, now() + interval '1 day' FROM history.turns;`,
  },
  {
    schema: "conversation",
    tables: ["conversation.messages"],
    sql: `
      INSERT INTO conversation.messages (
          workspace_id, session_id, message_id, turn_id, role, content, model, tokens_in, tokens_out, latency_ms, status, created_at, closed_at
        )
        SELECT t.workspace_id, t.session_id, m.message_id, t.turn_id, m.role, m.content, m.model, m.tokens_in, m.tokens_out, m.latency_ms,
               m.status, t.at, m.closed_at
        FROM history.turns t CROSS JOIN LATERAL (VALUES
          (t.message_id - 1, 'user', left(repeat('when is my order shipped, please? ', 8), (20 + t.n * 7 % 180)::integer), '', 0, 0, 0,
           'done', NULL::timestamptz),
          (t.message_id, 'assistant', CASE t.status WHEN 'streaming' THEN '' ELSE
             left(repeat('Orders leave our warehouse within two working days. ', 12), (80 + t.n * 13 % 500)::integer) END,
           'openai:default', 200, 80, 1500, t.status, CASE WHEN t.status <> 'streaming' THEN t.at + interval '2 seconds' END)
        ) AS m (message_id, role, content, model, tokens_in, tokens_out, latency_ms, status, closed_at);`,
  },
  {
    schema: "quota",
    tables: ["quota.workspaces", "quota.usage", "quota.reservations", "quota.ledger"],
    sql: `
      INSERT INTO quota.plans (plan, monthly_cap) VALUES ('generated', 1000000000) ON CONFLICT DO NOTHING;
      INSERT INTO quota.workspaces (workspace_id, name, plan)
        SELECT DISTINCT workspace_id, workspace_id, 'generated' FROM history.sessions;
      INSERT INTO quota.usage (workspace_id, month, used, held)
        SELECT workspace_id, month, count(*) FILTER (WHERE status = 'done'), count(*) FILTER (WHERE status = 'streaming')
        FROM history.turns GROUP BY workspace_id, month;
      INSERT INTO quota.reservations (workspace_id, turn_id, month, state, reserved_at, settled_at)
        SELECT workspace_id, turn_id, month, CASE status WHEN 'streaming' THEN 'held' WHEN 'done' THEN 'done' ELSE 'void' END, at,
               CASE WHEN status <> 'streaming' THEN at + interval '2 seconds' END
        FROM history.turns WHERE status <> 'blocked';
      INSERT INTO quota.ledger (workspace_id, month, turn_id, counted_at)
        SELECT workspace_id, month, turn_id, at + interval '2 seconds' FROM history.turns WHERE status = 'done';`,
  },
  {
    schema: "llm",
    tables: ["llm.calls"],
    sql: `
      INSERT INTO llm.calls (
          workspace_id, call_id, turn_id, provider, model, asked, tokens_in, tokens_out, estimated, queue_ms, first_token_ms, latency_ms,
          attempts, failovers, outcome, reason, cost, created_at
        )
        SELECT workspace_id, md5('call' || n)::uuid, turn_id, 'openai', 'openai:default', '', 200, 80, false, 0, 300, 1400, 1, 0,
               CASE status WHEN 'done' THEN 'complete' WHEN 'cancelled' THEN 'cancelled' ELSE 'provider_error' END, '', 0.001, at
        FROM history.turns WHERE status IN ('done', 'error', 'cancelled');`,
  },
] as const;
