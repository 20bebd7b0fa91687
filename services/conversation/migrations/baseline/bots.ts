/** Bots, their public keys and their rules. */
export const BOTS = `
  CREATE TABLE conversation.bots (
    workspace_id text NOT NULL CHECK (workspace_id ~ '^[A-Za-z0-9._-]{1,64}$'),
    bot_id       uuid NOT NULL,
    slug         text NOT NULL,
    -- The other settings: fields of parley.conversation.v1.Bot in protobuf's JSON format. No statement filters by a setting.
    settings     jsonb NOT NULL,
    -- A parley.conversation.v1.BotDisplay in this format. A column of its own, because looking up a key reads it without the settings.
    display      jsonb NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    -- The row of a deleted bot stays without content, because its conversations and its usage refer to it by its slug.
    deleted_at   timestamptz,
    PRIMARY KEY (workspace_id, bot_id),
    UNIQUE (workspace_id, slug)
  );

  CREATE TABLE conversation.api_keys (
    workspace_id    text NOT NULL,
    public_key      text NOT NULL,
    bot_id          uuid NOT NULL,
    -- What the owner calls the key.
    name            text NOT NULL DEFAULT '',
    allowed_domains text[] NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    revoked_at      timestamptz,
    -- Whether visitors need a visitor token.
    identity        text NOT NULL DEFAULT 'optional' CHECK (identity IN ('optional', 'required')),
    -- When visitors must solve a challenge.
    challenge       text NOT NULL DEFAULT 'off' CHECK (challenge IN ('off', 'suspicious', 'always')),
    -- The last day, in UTC, on which a browser used the key; NULL if none has used it.
    last_used_on    date,
    PRIMARY KEY (workspace_id, public_key),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );
  -- Keys are looked up by the key alone, without the workspace.
  CREATE INDEX api_keys_public_key ON conversation.api_keys (public_key);

  -- The keys with which the edge verifies a workspace's visitor tokens. A revoked key has no row.
  CREATE TABLE conversation.identity_keys (
    workspace_id     text NOT NULL,
    kid              text NOT NULL,
    algorithm        text NOT NULL CHECK (algorithm IN ('HS256', 'ES256', 'EdDSA', 'RS256')),
    -- The secret of HS256, otherwise the public key as a JWK.
    verification_key text NOT NULL,
    created_at       timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, kid)
  );
  ALTER TABLE conversation.identity_keys ALTER COLUMN verification_key SET STATISTICS 0;

  -- The uploaded logos.
  CREATE TABLE conversation.bot_logos (
    workspace_id text NOT NULL,
    bot_id       uuid NOT NULL,
    -- The SHA-256 of the content.
    hash         text NOT NULL,
    content_type text NOT NULL,
    content      bytea NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, bot_id, hash),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots ON DELETE CASCADE
  );
  ALTER TABLE conversation.bot_logos ALTER COLUMN content SET STATISTICS 0;
  -- Logos are looked up by their hash alone, without the workspace, because everybody may load them.
  CREATE INDEX bot_logos_hash ON conversation.bot_logos (hash);

  -- Matched in the order of their ids.
  CREATE TABLE conversation.moderation_patterns (
    workspace_id text NOT NULL,
    pattern_id   bigint GENERATED ALWAYS AS IDENTITY,
    bot_id       uuid NOT NULL,
    pattern      text NOT NULL,
    -- Whether the pattern is matched against the visitor's message, the model's reply or both.
    applies_to   text NOT NULL DEFAULT 'message' CHECK (applies_to IN ('message', 'reply', 'both')),
    reason       text NOT NULL,
    fallback     text NOT NULL,
    PRIMARY KEY (workspace_id, pattern_id),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );
  CREATE INDEX moderation_patterns_bot ON conversation.moderation_patterns (workspace_id, bot_id);

  -- The answers that a bot gives word for word. The oldest wins if several have the same question.
  CREATE TABLE conversation.answers (
    workspace_id text NOT NULL,
    answer_id    bigint GENERATED ALWAYS AS IDENTITY,
    bot_id       uuid NOT NULL,
    -- The ways in which visitors ask for it.
    questions    text[] NOT NULL,
    answer       text NOT NULL,
    -- Tells which questions of visitors were asked before the answer was written or changed.
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, answer_id),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );
  CREATE INDEX answers_bot ON conversation.answers (workspace_id, bot_id);

  -- Texts that people of the team insert into their answers to visitors.
  CREATE TABLE conversation.canned_replies (
    workspace_id text NOT NULL,
    reply_id     bigint GENERATED ALWAYS AS IDENTITY,
    name         text NOT NULL,
    content      text NOT NULL,
    PRIMARY KEY (workspace_id, reply_id)
  );

  -- The tools that a bot may call.
  CREATE TABLE conversation.tools (
    workspace_id text NOT NULL,
    bot_id       uuid NOT NULL,
    name         text NOT NULL,
    -- A parley.llm.v1.Tool in protobuf's JSON format.
    definition   jsonb NOT NULL,
    PRIMARY KEY (workspace_id, bot_id, name),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );
`;
