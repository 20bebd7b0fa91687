export const PLANS_AND_WORKSPACES = `
  CREATE TABLE quota.plans (
    plan                 text PRIMARY KEY,
    -- The counted messages of a month.
    monthly_cap          integer NOT NULL CHECK (monthly_cap >= 0),
    -- The unpaid replies of a day. NULL for the default, which depends on the cap.
    unpaid_per_day       integer,
    -- The documents, and the characters of their text, that all bots of a workspace together may have. The conversation service enforces these
    -- limits. The defaults are for plans that operators add.
    knowledge_documents  integer NOT NULL DEFAULT 2000 CHECK (knowledge_documents >= 0),
    knowledge_characters integer NOT NULL DEFAULT 50000000 CHECK (knowledge_characters >= 0),
    -- The most messages of a month that are counted as overage, once the plan's messages and the workspace's credits are used. 0: no overage.
    monthly_overage      integer NOT NULL DEFAULT 0 CHECK (monthly_overage >= 0)
  );
  INSERT INTO quota.plans (plan, monthly_cap, knowledge_documents, knowledge_characters) VALUES
    ('free', 100, 500, 10000000), ('pro', 5000, 2000, 50000000), ('scale', 25000, 10000, 250000000);

  -- A deleted workspace keeps its row, so that its usage can be billed and its id is never used again.
  CREATE TABLE quota.workspaces (
    workspace_id      text PRIMARY KEY CHECK (workspace_id ~ '^[A-Za-z0-9._-]{1,64}$'),
    name              text NOT NULL,
    plan              text NOT NULL REFERENCES quota.plans (plan),
    -- Minutes from a session's last message until the session is erased, up to 3,650 days; 0 for never.
    retention_minutes integer NOT NULL DEFAULT 0 CHECK (retention_minutes = 0 OR retention_minutes BETWEEN 10 AND 5256000),
    created_at        timestamptz NOT NULL DEFAULT now(),
    deleted_at        timestamptz,
    -- The percentages of the plan's cap at which the usage records an event.
    usage_thresholds  integer[] NOT NULL DEFAULT '{50,80,95,100}'
  );
  -- Lists the workspaces that erase old sessions, by retention.
  CREATE INDEX workspaces_retention ON quota.workspaces (retention_minutes, workspace_id) WHERE retention_minutes > 0 AND deleted_at IS NULL;

  -- One row for each change of a workspace's plan, never updated. The plan at a time is previous_plan of the first change after it, or the
  -- workspace's current plan if no change followed.
  CREATE TABLE quota.plan_changes (
    workspace_id  text NOT NULL,
    changed_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    previous_plan text NOT NULL REFERENCES quota.plans (plan),
    plan          text NOT NULL REFERENCES quota.plans (plan),
    PRIMARY KEY (workspace_id, changed_at)
  );
`;
