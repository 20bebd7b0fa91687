import { STATUSES } from "./turns.ts";

/**
 * Sessions and messages. They and the turns have no foreign keys to each other: one statement writes all rows of a turn, and each key would cost
 * a lookup per row.
 *
 * SET STATISTICS 0 keeps the content of visitors and models out of the planner's statistics, which contain common and sample values of a column:
 * an erasure could not reach them. No query plan needs them. The statistics of a hash would tell someone who knows a visitor's id that the visitor
 * has sessions.
 */
export const SESSIONS = `
  -- The row of an erased session stays as a tombstone, so that its id is never used again.
  CREATE TABLE conversation.sessions (
    workspace_id     text NOT NULL,
    session_id       uuid NOT NULL,
    bot_id           uuid NOT NULL,
    source           text NOT NULL CHECK (source IN ('widget', 'playground')),
    visitor_id       text,
    -- Whether a visitor token has verified visitor_id. The session then belongs to this visitor alone.
    visitor_verified boolean NOT NULL DEFAULT false,
    -- The id of the first message after the last change from one visitor id to another; NULL without a change.
    visitor_since    bigint,
    -- The hash of the id before that change. OpenTurn can read it only from the updated row.
    replaced_visitor bytea,
    visitor_metadata jsonb,
    referrer         text,
    user_agent       text,
    -- The version of the bot's consent that the visitor agreed to, and when; NULL without a consent.
    consent_version  text,
    consented_at     timestamptz,
    -- The id of the session's last message. OpenTurn derives the next message ids from it.
    last_message_id  bigint NOT NULL,
    -- The messages, including those of streaming turns, and the replies that are rated up and down.
    message_count    integer NOT NULL,
    ratings_up       integer NOT NULL DEFAULT 0,
    ratings_down     integer NOT NULL DEFAULT 0,
    -- The replies that are reviewed as good and as bad.
    reviews_good     integer NOT NULL DEFAULT 0,
    reviews_bad      integer NOT NULL DEFAULT 0,
    started_at       timestamptz NOT NULL,
    last_activity_at timestamptz NOT NULL,
    deleted_at       timestamptz,
    erased_at        timestamptz,
    -- Who answers the visitor: the bot (NULL), the bot until a person of the team comes (requested), or a person (assigned). In both of these
    -- states no model is called. See src/handoff.
    handoff_state        text CHECK (handoff_state IN ('requested', 'assigned')),
    -- Why the state last changed, and when. Each change has a later time, so that readers notice it.
    handoff_reason       text,
    handoff_at           timestamptz,
    -- When the visitor asked for a person who has not been assigned otherwise.
    handoff_requested_at timestamptz,
    -- Until when the visitor waits for a person (requested) or for the answer of one (assigned); NULL if the visitor does not wait.
    handoff_expires_at   timestamptz,
    -- The person who answers or was the last to do so.
    agent_id             text,
    agent_name           text,
    -- What the visitor has left for the team because nobody was there: an array of {"id", "email", "message", "created_at"}, oldest first; NULL
    -- if nothing. One update of the session's row stores, bounds and erases it.
    contact_messages     jsonb,
    -- When the visitor left the first of them that the team is not done with; NULL if there is none.
    contact_at           timestamptz,
    PRIMARY KEY (workspace_id, session_id)
  );
  ALTER TABLE conversation.sessions
    ALTER COLUMN visitor_id SET STATISTICS 0,
    ALTER COLUMN replaced_visitor SET STATISTICS 0,
    ALTER COLUMN visitor_metadata SET STATISTICS 0,
    ALTER COLUMN referrer SET STATISTICS 0,
    ALTER COLUMN user_agent SET STATISTICS 0,
    ALTER COLUMN agent_id SET STATISTICS 0,
    ALTER COLUMN agent_name SET STATISTICS 0,
    ALTER COLUMN contact_messages SET STATISTICS 0;
  -- The sessions that wait for a person, or have one.
  CREATE INDEX sessions_handoff ON conversation.sessions (workspace_id, handoff_state, handoff_at)
    WHERE handoff_state IS NOT NULL AND deleted_at IS NULL AND erased_at IS NULL;
  CREATE INDEX sessions_contact ON conversation.sessions (workspace_id, contact_at)
    WHERE contact_at IS NOT NULL AND deleted_at IS NULL AND erased_at IS NULL;
  CREATE INDEX sessions_handoff_expiry ON conversation.sessions (handoff_expires_at) WHERE handoff_expires_at IS NOT NULL;
  CREATE INDEX sessions_handoff_silence ON conversation.sessions (last_activity_at) WHERE handoff_state = 'assigned';
  -- Owners' lists without a filter, and the retention.
  CREATE INDEX sessions_recent ON conversation.sessions (workspace_id, last_activity_at) WHERE erased_at IS NULL;
  -- Owners' filtered lists. An ordinary turn adds no entry to the indexes of ratings, of reviews and of the playground.
  CREATE INDEX sessions_bot ON conversation.sessions (workspace_id, bot_id, last_activity_at)
    WHERE deleted_at IS NULL AND erased_at IS NULL;
  CREATE INDEX sessions_rated_up ON conversation.sessions (workspace_id, last_activity_at)
    WHERE ratings_up > 0 AND ratings_down = 0 AND deleted_at IS NULL AND erased_at IS NULL;
  CREATE INDEX sessions_rated_down ON conversation.sessions (workspace_id, last_activity_at)
    WHERE ratings_down > 0 AND deleted_at IS NULL AND erased_at IS NULL;
  CREATE INDEX sessions_reviewed_good ON conversation.sessions (workspace_id, last_activity_at)
    WHERE reviews_good > 0 AND reviews_bad = 0 AND deleted_at IS NULL AND erased_at IS NULL;
  CREATE INDEX sessions_reviewed_bad ON conversation.sessions (workspace_id, last_activity_at)
    WHERE reviews_bad > 0 AND deleted_at IS NULL AND erased_at IS NULL;
  CREATE INDEX sessions_playground ON conversation.sessions (workspace_id, last_activity_at)
    WHERE source = 'playground' AND deleted_at IS NULL AND erased_at IS NULL;
  -- A visitor's id can be too long for an index entry, so its hash is indexed.
  CREATE INDEX sessions_visitor ON conversation.sessions (workspace_id, hashtextextended(visitor_id, 0), last_activity_at)
    WHERE erased_at IS NULL AND visitor_id <> '';
  ALTER INDEX conversation.sessions_visitor ALTER COLUMN 2 SET STATISTICS 0;
  -- The histories of verified visitors. Sessions of which somebody only claims the id are not in it, so that nobody can slow a visitor's list.
  CREATE INDEX sessions_verified
    ON conversation.sessions (workspace_id, bot_id, hashtextextended(visitor_id, 0), last_activity_at)
    WHERE visitor_verified AND deleted_at IS NULL AND erased_at IS NULL;
  ALTER INDEX conversation.sessions_verified ALTER COLUMN 3 SET STATISTICS 0;
  -- Exports.
  CREATE INDEX sessions_started ON conversation.sessions (workspace_id, started_at, session_id)
    WHERE deleted_at IS NULL AND erased_at IS NULL;

  -- One row for each visitor id that a session had before its current one, so that erasing and filtering by this id find the session. Has the
  -- id's SHA-256 hash, because an id can be too long for an index entry.
  CREATE TABLE conversation.session_visitors (
    workspace_id text NOT NULL,
    session_id   uuid NOT NULL,
    visitor_hash bytea NOT NULL,
    replaced_at  timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, session_id, visitor_hash)
  );
  ALTER TABLE conversation.session_visitors ALTER COLUMN visitor_hash SET STATISTICS 0;
  CREATE INDEX session_visitors_hash ON conversation.session_visitors (workspace_id, visitor_hash, replaced_at, session_id);

  -- Two rows per turn, the visitor's message and the reply, with consecutive ids. Their order by id is the order of the turns. A turn of a visitor
  -- who waits for a person or has one has no reply, and so one row. A person's message is an assistant's message without a turn.
  CREATE TABLE conversation.messages (
    workspace_id    text NOT NULL,
    session_id      uuid NOT NULL,
    message_id      bigint NOT NULL,
    -- Of a person's message, the id of the request that sent it.
    turn_id         uuid NOT NULL,
    role            text NOT NULL CHECK (role IN ('user', 'assistant')),
    content         text NOT NULL,
    status          text NOT NULL CHECK (status IN ${STATUSES}),
    -- Of a person's message, human:<agent id>.
    model           text NOT NULL DEFAULT '',
    -- The name of the person who wrote the message; NULL for all other messages.
    agent_name      text,
    tokens_in       integer NOT NULL DEFAULT 0,
    tokens_out      integer NOT NULL DEFAULT 0,
    latency_ms      integer NOT NULL DEFAULT 0,
    error_message   text NOT NULL DEFAULT '',
    -- The chunks in the prompt of a reply.
    rag_chunks_used bigint[] NOT NULL DEFAULT '{}',
    -- The chunks that a reply cites.
    chunks_cited    bigint[] NOT NULL DEFAULT '{}',
    -- The sources that the visitor sees below a reply: an array of {"number", "title", "url"}, without a url for a document that is no public page.
    sources         jsonb NOT NULL DEFAULT '[]',
    tools_called    jsonb NOT NULL DEFAULT '[]',
    -- The visitor's rating of a reply, and what the visitor wrote about it; empty if nothing.
    rating          text NOT NULL DEFAULT '' CHECK (rating IN ('', 'up', 'down')),
    rating_reason   text NOT NULL DEFAULT '',
    -- An owner's review of a reply: good, bad or empty.
    review          text NOT NULL DEFAULT '',
    created_at      timestamptz NOT NULL,
    closed_at       timestamptz,
    PRIMARY KEY (workspace_id, session_id, message_id)
  );
  ALTER TABLE conversation.messages
    ALTER COLUMN content SET STATISTICS 0,
    ALTER COLUMN tools_called SET STATISTICS 0,
    ALTER COLUMN sources SET STATISTICS 0,
    ALTER COLUMN agent_name SET STATISTICS 0,
    ALTER COLUMN rating_reason SET STATISTICS 0;
  -- Stores a person's message once if its request is repeated.
  CREATE UNIQUE INDEX messages_agent ON conversation.messages (workspace_id, session_id, turn_id) WHERE agent_name IS NOT NULL;
  -- For the list of unanswered questions.
  CREATE INDEX messages_rated_down ON conversation.messages (workspace_id, created_at) WHERE rating = 'down';

  -- The team's private notes. Apart from the messages, so that nothing that visitors, models or receivers of events get can contain them.
  CREATE TABLE conversation.session_notes (
    workspace_id     text NOT NULL,
    session_id       uuid NOT NULL,
    note_id          bigint GENERATED ALWAYS AS IDENTITY,
    -- The id of the request that added it: a repeated request adds nothing.
    request_id       uuid NOT NULL,
    -- The session's last message when the note was written.
    after_message_id bigint NOT NULL,
    author_id        text NOT NULL,
    author_name      text NOT NULL,
    content          text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, session_id, note_id),
    UNIQUE (workspace_id, session_id, request_id)
  );
  ALTER TABLE conversation.session_notes
    ALTER COLUMN author_id SET STATISTICS 0,
    ALTER COLUMN author_name SET STATISTICS 0,
    ALTER COLUMN content SET STATISTICS 0;

  -- The people of the team whose inbox was open, with the last time.
  CREATE TABLE conversation.agents (
    workspace_id text NOT NULL,
    agent_id     text NOT NULL,
    name         text NOT NULL,
    seen_at      timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, agent_id)
  );

  -- One row for each request to erase a visitor, until nothing of the visitor is left.
  CREATE TABLE conversation.erasures (
    workspace_id text NOT NULL,
    request_id   uuid NOT NULL,
    visitor_id   text NOT NULL,
    requested_at timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, request_id)
  );
  ALTER TABLE conversation.erasures ALTER COLUMN visitor_id SET STATISTICS 0;

  -- One row for each deleted workspace. The row stays, so that nothing is stored for the workspace again.
  CREATE TABLE conversation.workspace_deletions (
    workspace_id text PRIMARY KEY,
    deleted_at   timestamptz NOT NULL DEFAULT now(),
    -- When the erasure began: from then on, the workspace cannot be restored.
    erasing_at   timestamptz,
    -- When the erasure ended.
    erased_at    timestamptz
  );
`;
