/** The statuses of turns and messages, as an SQL list. */
export const STATUSES =
  "('streaming', 'done', 'error', 'blocked', 'quota_exceeded', 'cancelled', 'interrupted', 'handoff')";

/** Turns, and the edge processes that run them. */
export const TURNS = `
  -- One row per turn. The usage audit compares these rows with the workspace's usage.
  CREATE TABLE conversation.turns (
    workspace_id   text NOT NULL,
    turn_id        uuid NOT NULL,
    session_id     uuid NOT NULL,
    -- The reply's id.
    message_id     bigint NOT NULL,
    bot_id         uuid NOT NULL,
    edge_id        uuid NOT NULL,
    -- The idempotency key, hashed with its source and caller; NULL without a key.
    key_hash       bytea,
    -- The hash of the turn's message, to refuse the key with another message.
    request_hash   bytea,
    status         text NOT NULL CHECK (status IN ${STATUSES}),
    -- How a complete reply finished: length if its text was cut at a limit of tokens, declined if the model said that it has no answer, otherwise
    -- NULL.
    finish_detail  text,
    error_code     text NOT NULL DEFAULT '',
    blocked_reason text,
    -- The month in which quota counts the reply.
    month          date,
    -- The UTC day of the hold of an unpaid reply, NULL for all other turns. See CloseTurnRequest.
    unpaid_day     date,
    asked_model    text NOT NULL,
    model          text NOT NULL,
    tokens_in      integer NOT NULL DEFAULT 0,
    tokens_out     integer NOT NULL DEFAULT 0,
    latency_ms     integer NOT NULL DEFAULT 0,
    first_token_ms integer NOT NULL DEFAULT 0,
    -- The durations of the turn's parts.
    phases         jsonb,
    -- How often readers reconnected to the reply while it was streaming.
    reconnects     integer,
    -- Whether the prompt had a passage of the bot's knowledge. NULL for a message that asks nothing, such as a greeting.
    grounded       boolean,
    -- Whether the reply cites a passage; NULL if not.
    cited          boolean,
    -- The id of the first message that the prompt may contain; NULL if it may contain the whole session. A repeated OpenTurn returns the same
    -- history, even if the session's visitor has changed since.
    history_start  bigint,
    -- For a turn that the quota refused, the workspace's usage, which the turn's last events report; otherwise NULL.
    ending         jsonb,
    opened_at      timestamptz NOT NULL,
    closed_at      timestamptz,
    PRIMARY KEY (workspace_id, turn_id),
    CHECK (status <> 'done' OR month IS NOT NULL),
    CHECK ((status = 'streaming') = (closed_at IS NULL))
  );
  -- Finds a turn by its reply's id, and keeps the random ids unique within a workspace.
  CREATE UNIQUE INDEX turns_message_id ON conversation.turns (workspace_id, message_id);
  -- A session has at most one turn for each idempotency key.
  CREATE UNIQUE INDEX turns_key ON conversation.turns (workspace_id, session_id, key_hash) WHERE key_hash IS NOT NULL;
  CREATE INDEX turns_streaming ON conversation.turns (workspace_id, session_id) WHERE status = 'streaming';
  -- The sweep finds the streaming turns that were opened first.
  CREATE INDEX turns_streaming_opened ON conversation.turns (opened_at) WHERE status = 'streaming';
  CREATE INDEX turns_done ON conversation.turns (month, workspace_id) WHERE status = 'done';
  -- The reconciliation reads done turns in the order in which they were closed.
  CREATE INDEX turns_done_closed ON conversation.turns (closed_at, workspace_id, turn_id) WHERE status = 'done';
  -- The prune reads uncounted turns (closed, but not done), oldest close first.
  CREATE INDEX turns_uncounted_closed ON conversation.turns (closed_at) WHERE status NOT IN ('streaming', 'done');
  -- Counts the unpaid replies of a day.
  CREATE INDEX turns_unpaid ON conversation.turns (unpaid_day, workspace_id) WHERE unpaid_day IS NOT NULL;
  -- The unanswered questions: the done turns whose prompt had no passage, or in which the model said that it has no answer.
  CREATE INDEX turns_unanswered ON conversation.turns (workspace_id, bot_id, closed_at)
    WHERE status = 'done' AND (NOT grounded OR (grounded AND finish_detail = 'declined'));

  -- One lease per running edge process.
  CREATE TABLE conversation.edges (
    edge_id    uuid PRIMARY KEY,
    expires_at timestamptz NOT NULL,
    -- Where other edges reach the process, and its secret; NULL if they cannot reach it.
    address    text,
    token      text
  );

  -- Turns that an erasure or the sweeper closed while their edge may still run them. The edge reads and stops them. Kept for an hour.
  CREATE TABLE conversation.closed_turns (
    workspace_id text NOT NULL,
    turn_id      uuid NOT NULL,
    edge_id      uuid NOT NULL,
    closed_at    timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, turn_id)
  );
  CREATE INDEX closed_turns_edge ON conversation.closed_turns (edge_id, closed_at);

  -- How many turns with this outcome ended without a reply on this UTC day and kept the visitor's message. See refusal-counts/.
  -- The outcome 'contact' counts contact messages instead of turns.
  -- The first such turn of a new day sets turns back to 1, so a workspace has at most one row for each outcome.
  CREATE TABLE conversation.refusal_counts (
    workspace_id text NOT NULL,
    outcome      text NOT NULL,
    day          date NOT NULL,
    turns        integer NOT NULL,
    PRIMARY KEY (workspace_id, outcome)
  ) WITH (fillfactor = 50);
`;
