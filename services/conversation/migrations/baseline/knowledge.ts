/**
 * The bots' documents, their search indexes and their evaluations. SET STATISTICS 0 keeps content of documents out of the planner's
 * statistics.
 */
export const KNOWLEDGE = `
  -- One row per document.
  CREATE TABLE conversation.knowledge_sources (
    workspace_id    text NOT NULL,
    source_id       bigint GENERATED ALWAYS AS IDENTITY,
    bot_id          uuid NOT NULL,
    name            text NOT NULL,
    format          text NOT NULL CHECK (format IN ('txt', 'md', 'html', 'csv', 'tsv', 'docx', 'xlsx', 'pdf')),
    -- The text search configuration that stems the words. Of type text, because pg_upgrade refuses columns of type regconfig.
    language        text NOT NULL DEFAULT 'english',
    -- The URL that the document was fetched from; empty if its content was sent.
    url             text NOT NULL DEFAULT '',
    characters      integer NOT NULL,
    chunks          integer NOT NULL,
    updated_at      timestamptz NOT NULL,
    -- The model of the embeddings.
    embedding_model text NOT NULL DEFAULT '',
    -- The updated_at of the content that is embedded. If it differs from updated_at, embedded counts embeddings of replaced content.
    embedding_of    timestamptz,
    -- How many chunks have an embedding.
    embedded        integer NOT NULL DEFAULT 0,
    -- The end of the lease of the process that embeds the source.
    embedding_until timestamptz NOT NULL DEFAULT '-infinity',
    PRIMARY KEY (workspace_id, source_id),
    UNIQUE (workspace_id, bot_id, name),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );

  -- The texts as they were added, so that owners can edit them. Sources with a URL and other formats than txt and md have no row.
  CREATE TABLE conversation.source_texts (
    workspace_id text NOT NULL,
    source_id    bigint NOT NULL,
    content      text NOT NULL,
    PRIMARY KEY (workspace_id, source_id),
    FOREIGN KEY (workspace_id, source_id) REFERENCES conversation.knowledge_sources ON DELETE CASCADE
  );
  ALTER TABLE conversation.source_texts ALTER COLUMN content SET STATISTICS 0;

  -- The sites whose pages are documents of a bot.
  CREATE TABLE conversation.knowledge_sites (
    workspace_id    text NOT NULL,
    site_id         bigint GENERATED ALWAYS AS IDENTITY,
    bot_id          uuid NOT NULL,
    -- The page from which the crawl starts.
    url             text NOT NULL,
    -- Patterns of paths, as in robots.txt.
    include         text[] NOT NULL,
    exclude         text[] NOT NULL,
    max_pages       integer NOT NULL,
    -- The time between the starts of two runs; 0 if only an owner starts one.
    refresh_minutes integer NOT NULL,
    -- Whether only the page of the URL is read, and no link is followed.
    single_page     boolean NOT NULL DEFAULT false,
    state           text NOT NULL CHECK (state IN ('crawling', 'complete', 'failed', 'stopped', 'removing')),
    -- The number of the current or last run.
    run             integer NOT NULL DEFAULT 1,
    started_at      timestamptz NOT NULL DEFAULT now(),
    ended_at        timestamptz,
    next_run_at     timestamptz NOT NULL DEFAULT 'infinity',
    -- Whether the run has read the sitemaps.
    seeded          boolean NOT NULL DEFAULT false,
    -- Why the last run failed, or why it left out pages; empty if it did not.
    failure_code    text NOT NULL DEFAULT '',
    failure         text NOT NULL DEFAULT '',
    -- The lease of the process that crawls the site. Without a lease, the time since when the site waits for one.
    lease_holder    uuid,
    leased_until    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, site_id),
    UNIQUE (workspace_id, bot_id, url, single_page),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );

  -- The URLs that a site's crawl has found.
  CREATE TABLE conversation.knowledge_pages (
    workspace_id  text NOT NULL,
    site_id       bigint NOT NULL,
    url           text COLLATE "C" NOT NULL,
    -- The number of links from the first page or the sitemap.
    depth         integer NOT NULL,
    -- The run that checked the page last. A page waits for its check while its run is before that of its site.
    run           integer NOT NULL DEFAULT 0,
    -- What that check found; empty before the first one.
    outcome       text NOT NULL DEFAULT ''
      CHECK (outcome IN ('', 'added', 'changed', 'unchanged', 'duplicate', 'moved', 'skipped', 'missing', 'removed', 'failed')),
    code          text NOT NULL DEFAULT '',
    reason        text NOT NULL DEFAULT '',
    -- The page that has the content of a duplicate or moved page.
    canonical     text NOT NULL DEFAULT '',
    -- The page's document.
    source_id     bigint,
    content_hash  text NOT NULL DEFAULT '',
    etag          text NOT NULL DEFAULT '',
    last_modified text NOT NULL DEFAULT '',
    -- The checks of the run that a busy server has refused, or that have failed unexpectedly.
    attempts      integer NOT NULL DEFAULT 0,
    checked_at    timestamptz,
    -- When the document's text changed last.
    changed_at    timestamptz,
    -- Since when the page of the document is missing, moved or a duplicate.
    gone_since    timestamptz,
    PRIMARY KEY (workspace_id, site_id, url),
    FOREIGN KEY (workspace_id, site_id) REFERENCES conversation.knowledge_sites ON DELETE CASCADE,
    FOREIGN KEY (workspace_id, source_id) REFERENCES conversation.knowledge_sources ON DELETE SET NULL (source_id)
  );
  CREATE INDEX knowledge_pages_source ON conversation.knowledge_pages (workspace_id, source_id) WHERE source_id IS NOT NULL;

  CREATE TABLE conversation.knowledge_chunks (
    workspace_id text NOT NULL,
    chunk_id     bigint GENERATED ALWAYS AS IDENTITY,
    bot_id       uuid NOT NULL,
    source_id    bigint NOT NULL,
    position     integer NOT NULL,
    heading      text NOT NULL,
    content      text NOT NULL,
    -- The search vector: the words, stemmed in the language of the source, and a lexeme that names the bot, so that an index scan reads only
    -- the bot's own chunks. The weight label of a word is A in the nearest heading, B in an outer heading, C in code and D in the text.
    terms        tsvector NOT NULL,
    PRIMARY KEY (workspace_id, chunk_id),
    FOREIGN KEY (workspace_id, source_id) REFERENCES conversation.knowledge_sources ON DELETE CASCADE
  );
  CREATE INDEX knowledge_chunks_source ON conversation.knowledge_chunks (workspace_id, source_id);
  -- A GIN index has a list of new entries that are not sorted yet. Every search of every bot reads the whole list, and the statement that fills
  -- it sorts all its entries. A limit of 256 kB instead of 4 MB keeps the reading and the sorting short.
  CREATE INDEX knowledge_chunks_terms ON conversation.knowledge_chunks USING gin (terms) WITH (gin_pending_list_limit = 256);

  -- The distinct words of each source, each with its lexeme and the number of the source's chunks that contain the lexeme. A search uses them
  -- to weight rare words more and to correct misspelt words.
  CREATE TABLE conversation.knowledge_words (
    workspace_id text NOT NULL,
    bot_id       uuid NOT NULL,
    source_id    bigint NOT NULL,
    word         text COLLATE "C" NOT NULL,
    lexeme       text COLLATE "C" NOT NULL,
    chunks       integer NOT NULL,
    PRIMARY KEY (workspace_id, source_id, word, lexeme),
    FOREIGN KEY (workspace_id, source_id) REFERENCES conversation.knowledge_sources ON DELETE CASCADE
  );
  CREATE INDEX knowledge_words_beginning ON conversation.knowledge_words (workspace_id, bot_id, word);
  CREATE INDEX knowledge_words_end ON conversation.knowledge_words (workspace_id, bot_id, reverse(word));
  -- Finds in how many chunks of a bot a lexeme occurs. The query compares the expression bot_id::text, which only this index contains. If the
  -- query compared bot_id itself, PostgreSQL could choose an index that reads all words of the bot.
  CREATE INDEX knowledge_words_frequency ON conversation.knowledge_words (workspace_id, (bot_id::text), lexeme, source_id, chunks);

  -- The latest embedding of each chunk, and the model that computed it.
  CREATE TABLE conversation.knowledge_embeddings (
    workspace_id text NOT NULL,
    bot_id       uuid NOT NULL,
    chunk_id     bigint NOT NULL,
    model        text NOT NULL,
    -- Of type real[], because pgvector may be installed later or never. Queries cast it to vector.
    embedding    real[] NOT NULL,
    PRIMARY KEY (workspace_id, chunk_id),
    FOREIGN KEY (workspace_id, chunk_id) REFERENCES conversation.knowledge_chunks ON DELETE CASCADE
  );
  ALTER TABLE conversation.knowledge_embeddings
    ALTER COLUMN embedding SET STATISTICS 0,
    ALTER COLUMN embedding SET STORAGE EXTERNAL;
  CREATE INDEX knowledge_embeddings_bot ON conversation.knowledge_embeddings (workspace_id, bot_id, model);

  -- Owners' questions, each with the name of the document that a search must find for it; empty for an answer of the owner.
  CREATE TABLE conversation.evaluation_cases (
    workspace_id text NOT NULL,
    case_id      bigint GENERATED ALWAYS AS IDENTITY,
    bot_id       uuid NOT NULL,
    question     text NOT NULL,
    document     text NOT NULL,
    PRIMARY KEY (workspace_id, case_id),
    UNIQUE (workspace_id, bot_id, question),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );

  -- The last runs of each bot.
  CREATE TABLE conversation.evaluation_runs (
    workspace_id      text NOT NULL,
    bot_id            uuid NOT NULL,
    run_id            bigint GENERATED ALWAYS AS IDENTITY,
    ran_at            timestamptz NOT NULL DEFAULT now(),
    cases             integer NOT NULL,
    searched          integer NOT NULL,
    found             integer NOT NULL,
    -- The cases whose semantic search failed, so that only words were searched.
    semantic_failures integer NOT NULL,
    documents         integer NOT NULL,
    -- An array of {"caseId", "rank"}; a rank of 0 means not found. With "answerId" if the bot would give this answer of its owner.
    results           jsonb NOT NULL,
    PRIMARY KEY (workspace_id, bot_id, run_id),
    FOREIGN KEY (workspace_id, bot_id) REFERENCES conversation.bots
  );
`;
