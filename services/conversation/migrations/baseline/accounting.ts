/** The settlement of turns, the totals of pruned turns and the counts of replies. */
export const ACCOUNTING = `
  -- One row per closed turn, until the quota service has settled it.
  CREATE TABLE conversation.outbox (
    workspace_id text NOT NULL,
    turn_id      uuid NOT NULL,
    outcome      text NOT NULL CHECK (outcome IN ('done', 'void')),
    month        date,
    created_at   timestamptz NOT NULL,
    -- As of the turn.
    unpaid_day   date,
    PRIMARY KEY (workspace_id, turn_id),
    CHECK (outcome <> 'done' OR month IS NOT NULL)
  );
  CREATE INDEX outbox_age ON conversation.outbox (created_at, workspace_id, turn_id);

  -- The months that the quota service has closed, copied from there.
  CREATE TABLE conversation.closed_months (
    month     date PRIMARY KEY,
    closed_at timestamptz NOT NULL,
    pruned_at timestamptz
  );

  -- The done turns that were pruned from a closed month: their number, and the XOR of the first 64 bits of the MD5 of each id. The service's role
  -- may read the totals and add rows. It can change a row only through prune_turns.
  CREATE TABLE conversation.turn_totals (
    workspace_id text NOT NULL,
    month        date NOT NULL,
    turns        integer NOT NULL,
    digest       bigint NOT NULL,
    PRIMARY KEY (month, workspace_id)
  );

  -- Moves up to max_rows done turns of a workspace's closed month to the totals, as the migrating role. Returns their number.
  CREATE FUNCTION conversation.prune_turns(of_workspace text, of_month date, max_rows integer) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  DECLARE
    pruned integer;
  BEGIN
    IF of_month > (now() AT TIME ZONE 'UTC')::date - interval '4 months'
       OR NOT EXISTS (SELECT FROM conversation.closed_months m WHERE m.month = of_month AND m.closed_at < now() - interval '1 day') THEN
      RAISE EXCEPTION 'month % is not closed, or too recent', of_month USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    WITH deleted AS (
      DELETE FROM conversation.turns t
      USING (
        SELECT p.turn_id FROM conversation.turns p
        WHERE p.status = 'done' AND p.month = of_month AND p.workspace_id = of_workspace
        LIMIT max_rows
        FOR UPDATE SKIP LOCKED
      ) p
      WHERE t.workspace_id = of_workspace AND t.turn_id = p.turn_id
      RETURNING t.turn_id
    ), total AS (
      INSERT INTO conversation.turn_totals AS t (workspace_id, month, turns, digest)
      SELECT of_workspace, of_month, count(*), bit_xor(('x' || left(md5(d.turn_id::text), 16))::bit(64)::bigint)
      FROM deleted d HAVING count(*) > 0
      ON CONFLICT (workspace_id, month) DO UPDATE SET turns = t.turns + excluded.turns, digest = t.digest # excluded.digest
    )
    SELECT count(*) FROM deleted INTO pruned;
    RETURN pruned;
  END
  $$;

  -- Each workspace's done turns by the hour in which they were closed. A background task counts them.
  CREATE TABLE conversation.reply_counts (
    workspace_id text NOT NULL,
    hour         timestamptz NOT NULL,
    replies      integer NOT NULL,
    -- Replies with and without passages in their prompt. Replies to messages that ask nothing are in neither.
    grounded     integer NOT NULL,
    ungrounded   integer NOT NULL,
    -- A histogram of the times to the first token. statistics/first-token-times.ts defines the buckets.
    first_tokens integer[] NOT NULL,
    -- Those of grounded that cite a passage, and those of ungrounded that had passages.
    cited        integer NOT NULL DEFAULT 0,
    declined     integer NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, hour)
  );
  CREATE INDEX reply_counts_by_hour ON conversation.reply_counts (hour);

  -- Each bot's done turns by hour and month. The hour is the one in which they were closed. The month is the one in which quota counts them, so
  -- replies of one hour can belong to two months. A background task counts them.
  CREATE TABLE conversation.bot_reply_counts (
    workspace_id text NOT NULL,
    hour         timestamptz NOT NULL,
    bot_id       uuid NOT NULL,
    month        date NOT NULL,
    replies      integer NOT NULL,
    PRIMARY KEY (workspace_id, hour, bot_id, month)
  );
  CREATE INDEX bot_reply_counts_by_hour ON conversation.bot_reply_counts (hour);
`;
