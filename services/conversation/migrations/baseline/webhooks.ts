/** Events, and the webhooks that report them. See docs/webhooks.md. */
export const WEBHOOKS = `
  -- What happened: the ids and counts of one event, never a text. The statement that causes an event inserts it, if an endpoint of the workspace
  -- wants it. The dispatcher moves it to the queues of these endpoints.
  CREATE TABLE conversation.events (
    workspace_id text NOT NULL,
    event_id     uuid NOT NULL DEFAULT gen_random_uuid(),
    type         text NOT NULL,
    occurred_at  timestamptz NOT NULL,
    -- Later than occurred_at if quota's database had the event first.
    recorded_at  timestamptz NOT NULL DEFAULT now(),
    -- The session that the event is about; NULL if it is about none.
    session_id   uuid,
    data         jsonb NOT NULL,
    PRIMARY KEY (workspace_id, event_id)
  );
  CREATE INDEX events_recorded ON conversation.events (recorded_at);

  -- The events of quota's database that were recorded. If that database was restored to an earlier time, quota lists events again.
  CREATE TABLE conversation.usage_events (
    workspace_id text NOT NULL,
    event_id     uuid NOT NULL,
    recorded_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, event_id)
  );
  CREATE INDEX usage_events_recorded ON conversation.usage_events (recorded_at);

  CREATE TABLE conversation.webhook_endpoints (
    workspace_id        text NOT NULL,
    endpoint_id         uuid NOT NULL,
    url                 text NOT NULL,
    -- The types that the endpoint gets; empty for all.
    types               text[] NOT NULL,
    -- Whether the events contain the messages' texts.
    include_content     boolean NOT NULL,
    -- Encrypted with ENCRYPTION_KEY, as the previous one, which signs until it expires.
    secret              text NOT NULL,
    previous_secret     text,
    previous_expires_at timestamptz,
    -- The number of the endpoint's last event.
    last_sequence       bigint NOT NULL DEFAULT 0,
    -- How many undelivered events were deleted because too many waited.
    dropped             bigint NOT NULL DEFAULT 0,
    -- The first failed attempt since the last successful one.
    failing_since       timestamptz,
    -- No attempt begins before.
    paused_until        timestamptz,
    disabled_at         timestamptz,
    disabled_reason     text CHECK (disabled_reason IN ('owner', 'gone', 'failing')),
    created_at          timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, endpoint_id),
    CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL))
  ) WITH (fillfactor = 50);

  -- An endpoint's queue and log: one row for each of its events. It has no foreign key, because the rows of a deleted endpoint are too many for one
  -- statement.
  CREATE TABLE conversation.webhook_deliveries (
    workspace_id    text NOT NULL,
    endpoint_id     uuid NOT NULL,
    sequence        bigint NOT NULL,
    event_id        uuid NOT NULL,
    type            text NOT NULL,
    occurred_at     timestamptz NOT NULL,
    session_id      uuid,
    data            jsonb NOT NULL,
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'delivered', 'failed')),
    -- The attempts since the event was queued, or since its last redelivery was requested.
    attempts        integer NOT NULL DEFAULT 0,
    -- The times of all attempts.
    attempted_at    timestamptz[] NOT NULL DEFAULT '{}',
    next_attempt_at timestamptz,
    -- Of the last attempt. Without a response, error has the code of the reason.
    response_status integer,
    response_body   text,
    error           text,
    duration_ms     integer,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, endpoint_id, sequence),
    CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
  );
  ALTER TABLE conversation.webhook_deliveries ALTER COLUMN response_body SET STATISTICS 0;
  CREATE INDEX webhook_deliveries_pending ON conversation.webhook_deliveries (workspace_id, endpoint_id, next_attempt_at) WHERE status = 'pending';
  CREATE INDEX webhook_deliveries_failed ON conversation.webhook_deliveries (workspace_id, endpoint_id, sequence) WHERE status = 'failed';
  CREATE INDEX webhook_deliveries_created ON conversation.webhook_deliveries (created_at) WHERE status <> 'pending';
  -- An erasure finds the responses to the session's events.
  CREATE INDEX webhook_deliveries_responses ON conversation.webhook_deliveries (workspace_id, session_id) WHERE response_body IS NOT NULL;
`;
