/** The recipients of e-mail about a workspace's events, and the queue of the messages. See docs/email.md. */
export const EMAILS = `
  CREATE TABLE conversation.email_recipients (
    workspace_id text NOT NULL,
    recipient_id uuid NOT NULL,
    address      text NOT NULL,
    language     text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, recipient_id)
  );
  CREATE UNIQUE INDEX email_recipients_address ON conversation.email_recipients (workspace_id, lower(address));

  -- One message for each event and recipient, recorded before it is sent: its ids and counts, without the address. It has no foreign key, so that
  -- the messages of a removed recipient still count towards the workspace's limit of an hour.
  CREATE TABLE conversation.email_messages (
    workspace_id    text NOT NULL,
    recipient_id    uuid NOT NULL,
    event_id        uuid NOT NULL,
    type            text NOT NULL,
    occurred_at     timestamptz NOT NULL,
    data            jsonb NOT NULL,
    -- held: above the limit of an hour. The next summary counts it.
    status          text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'sent', 'failed', 'held')),
    attempts        integer NOT NULL DEFAULT 0,
    last_attempt_at timestamptz,
    next_attempt_at timestamptz,
    -- Why the last attempt failed.
    error           text,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, recipient_id, event_id),
    CHECK ((status = 'pending') = (next_attempt_at IS NOT NULL))
  );
  ALTER TABLE conversation.email_messages ALTER COLUMN error SET STATISTICS 0;
  CREATE INDEX email_messages_pending ON conversation.email_messages (workspace_id, next_attempt_at) WHERE status = 'pending';
  CREATE INDEX email_messages_held ON conversation.email_messages (workspace_id, recipient_id, created_at) WHERE status = 'held';
  -- The attempts of the last hour.
  CREATE INDEX email_messages_attempted ON conversation.email_messages (workspace_id, last_attempt_at);
  CREATE INDEX email_messages_created ON conversation.email_messages (created_at);
`;
