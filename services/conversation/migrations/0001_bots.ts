import type { Knex } from "@parley/service-kit";

export const name = "0001_bots";

/**
 * bots                 one row per bot. `display` is one JSON document, because it is always read and written as a whole.
 * api_keys             public keys. They are looked up by the key alone, without the workspace.
 * moderation_patterns  matched in the order of their ids.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.bots (
      workspace_id  text NOT NULL CHECK (workspace_id ~ '^[A-Za-z0-9._-]{1,64}$'),
      bot_id        uuid NOT NULL,
      slug          text NOT NULL,
      model         text NOT NULL,
      system_prompt text NOT NULL,
      fallback      text NOT NULL,
      display       jsonb NOT NULL,
      created_at    timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (workspace_id, bot_id),
      UNIQUE (workspace_id, slug)
    );

    CREATE TABLE conversation.api_keys (
      workspace_id    text NOT NULL,
      public_key      text NOT NULL,
      bot_id          uuid NOT NULL,
      allowed_domains text[] NOT NULL,
      created_at      timestamptz NOT NULL DEFAULT now(),
      revoked_at      timestamptz,
      PRIMARY KEY (workspace_id, public_key),
      FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
    );
    CREATE INDEX api_keys_public_key ON conversation.api_keys (public_key);

    CREATE TABLE conversation.moderation_patterns (
      workspace_id text NOT NULL,
      pattern_id   bigint GENERATED ALWAYS AS IDENTITY,
      bot_id       uuid NOT NULL,
      pattern      text NOT NULL,
      reason       text NOT NULL,
      fallback     text NOT NULL,
      PRIMARY KEY (workspace_id, pattern_id),
      FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
    );
    CREATE INDEX moderation_patterns_bot ON conversation.moderation_patterns (workspace_id, bot_id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE conversation.moderation_patterns, conversation.api_keys, conversation.bots");
}
