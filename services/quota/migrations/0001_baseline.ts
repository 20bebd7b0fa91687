import type { Knex } from "@parley/service-kit";

export const name = "0001_baseline";

/** Creates the quota schema. A month is the first day of a UTC month. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(PLANS_AND_WORKSPACES);
  await knex.raw(USAGE);
  await knex.raw(USAGE_LEDGER);
  await knex.raw(PRUNING);
  await knex.raw(AUDIT_LOG);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION quota.delete_expired_audit_log_entries(), quota.prune_void_reservations(interval, integer),
      quota.prune_ledger(text, date, integer), quota.count_client_holds(text, date, bytea);
    DROP TABLE quota.audit_log, quota.ledger_totals, quota.adjustments, quota.ledger, quota.reservations, quota.usage, quota.months,
      quota.plan_changes, quota.workspaces, quota.plans;
  `);
}

const PLANS_AND_WORKSPACES = `
  CREATE TABLE quota.plans (
    plan                 text PRIMARY KEY,
    -- The counted messages of a month.
    monthly_cap          integer NOT NULL CHECK (monthly_cap >= 0),
    -- The unpaid replies of a day. NULL for the default, which depends on the cap.
    unpaid_per_day       integer,
    -- The documents, and the characters of their text, that all bots of a workspace together may have. The conversation service enforces these
    -- limits. The defaults are for plans that operators add.
    knowledge_documents  integer NOT NULL DEFAULT 2000 CHECK (knowledge_documents >= 0),
    knowledge_characters integer NOT NULL DEFAULT 50000000 CHECK (knowledge_characters >= 0)
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
    deleted_at        timestamptz
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

const USAGE = `
  -- One row for each month with usage. The worker that prunes usage adds it before the month is closed, so that Settle has a row to lock.
  CREATE TABLE quota.months (
    month      date PRIMARY KEY,
    created_at timestamptz NOT NULL DEFAULT now(),
    closed_at  timestamptz,
    pruned_at  timestamptz
  );

  -- One row per workspace and month.
  CREATE TABLE quota.usage (
    workspace_id text NOT NULL,
    month        date NOT NULL,
    -- The counted and the held messages.
    used         integer NOT NULL DEFAULT 0 CHECK (used >= 0),
    held         integer NOT NULL DEFAULT 0 CHECK (held >= 0),
    -- The latest UTC day of the month with unpaid replies, and their number.
    unpaid_day   date,
    unpaid       integer NOT NULL DEFAULT 0,
    -- The part of unpaid that the operator's last reset forgave.
    unpaid_reset integer NOT NULL DEFAULT 0,
    PRIMARY KEY (workspace_id, month)
  );
  -- Lists the months with usage and a month's workspaces.
  CREATE INDEX usage_month ON quota.usage (month, workspace_id);
  -- Lists the workspaces with unpaid replies of a day.
  CREATE INDEX usage_unpaid ON quota.usage (unpaid_day, workspace_id) WHERE unpaid_day IS NOT NULL;

  -- One row per turn with a reservation. The primary key serializes Reserve and Settle of a turn.
  CREATE TABLE quota.reservations (
    workspace_id text NOT NULL,
    turn_id      uuid NOT NULL,
    month        date NOT NULL,
    state        text NOT NULL CHECK (state IN ('held', 'done', 'void')),
    reserved_at  timestamptz NOT NULL DEFAULT now(),
    -- NULL while the turn is held.
    settled_at   timestamptz,
    -- A keyed hash of the client, NULL once the turn is settled.
    client       bytea,
    -- The UTC day in which the turn's reply counts as unpaid.
    unpaid_day   date,
    PRIMARY KEY (workspace_id, turn_id)
  );
  CREATE INDEX reservations_held ON quota.reservations (reserved_at) WHERE state = 'held';
  -- For the reconciliation, which reads counted turns by settlement time.
  CREATE INDEX reservations_settled ON quota.reservations (settled_at, workspace_id, turn_id) WHERE state = 'done';
  -- Finds old void reservations, which are pruned.
  CREATE INDEX reservations_void ON quota.reservations (settled_at) WHERE state = 'void';
  -- Counts a client's holds.
  CREATE INDEX reservations_client ON quota.reservations (workspace_id, client) WHERE state = 'held' AND client IS NOT NULL;

  -- A VOLATILE function reads with a new snapshot. Reserve calls it when it has locked the month's usage row, so it sees every hold of the
  -- month, also those that were committed while Reserve waited for the lock.
  CREATE FUNCTION quota.count_client_holds(of_workspace text, of_month date, of_client bytea) RETURNS integer
  LANGUAGE plpgsql VOLATILE AS $$
  BEGIN
    RETURN (
      SELECT count(*) FROM quota.reservations r
      WHERE r.workspace_id = of_workspace AND r.client = of_client AND r.state = 'held' AND r.month = of_month
    );
  END
  $$;
`;

/** Proves the counters of usage: used = rows of the ledger + turns of the totals + sum of the adjustments. */
const USAGE_LEDGER = `
  -- One row per counted turn, never updated. The service's role may only add and read rows. It can delete them only through prune_ledger.
  CREATE TABLE quota.ledger (
    workspace_id text NOT NULL,
    month        date NOT NULL,
    turn_id      uuid NOT NULL,
    counted_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, month, turn_id)
  );

  -- For each closed month of a workspace, the number of rows that were pruned from the ledger, and the XOR of the first 64 bits of the MD5 of
  -- each pruned turn's id.
  CREATE TABLE quota.ledger_totals (
    workspace_id text NOT NULL,
    month        date NOT NULL,
    turns        integer NOT NULL,
    digest       bigint NOT NULL,
    PRIMARY KEY (workspace_id, month)
  );

  -- One row for each correction, never updated. It corrects the outcome of a settled turn, whose row of the ledger stays, or an operator adjusts
  -- the month's usage. An operator's adjustment has no turn, and its id is the caller's request id.
  CREATE TABLE quota.adjustments (
    workspace_id  text NOT NULL,
    adjustment_id uuid NOT NULL DEFAULT gen_random_uuid(),
    month         date NOT NULL,
    turn_id       uuid,
    amount        integer NOT NULL,
    reason        text NOT NULL,
    operator      text,
    adjusted_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (workspace_id, adjustment_id),
    CONSTRAINT adjustments_entry_check
      CHECK (CASE WHEN turn_id IS NULL THEN amount <> 0 AND operator IS NOT NULL ELSE amount IN (-1, 1) AND operator IS NULL END)
  );
  CREATE INDEX adjustments_month ON quota.adjustments (workspace_id, month, turn_id);
`;

/** The functions run as the migrating role. While another replica runs either of them, a call returns NULL. */
const PRUNING = `
  -- Moves up to max_rows rows of a workspace's closed month from the usage ledger to the totals, with their reservations. Returns their number.
  CREATE FUNCTION quota.prune_ledger(of_workspace text, of_month date, max_rows integer) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  DECLARE
    pruned integer;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('parley.prune_usage')) THEN
      RETURN NULL;
    END IF;
    IF of_month > (now() AT TIME ZONE 'UTC')::date - interval '4 months'
       OR NOT EXISTS (SELECT FROM quota.months m WHERE m.month = of_month AND m.closed_at < now() - interval '1 day') THEN
      RAISE EXCEPTION 'month % is not closed, or too recent', of_month USING ERRCODE = 'object_not_in_prerequisite_state';
    END IF;
    WITH deleted AS (
      DELETE FROM quota.ledger l
      USING (
        SELECT p.turn_id FROM quota.ledger p WHERE p.workspace_id = of_workspace AND p.month = of_month
        ORDER BY p.turn_id LIMIT max_rows
      ) p
      WHERE l.workspace_id = of_workspace AND l.month = of_month AND l.turn_id = p.turn_id
      RETURNING l.turn_id
    ), total AS (
      INSERT INTO quota.ledger_totals AS t (workspace_id, month, turns, digest)
      SELECT of_workspace, of_month, count(*), bit_xor(('x' || left(md5(d.turn_id::text), 16))::bit(64)::bigint)
      FROM deleted d HAVING count(*) > 0
      ON CONFLICT (workspace_id, month) DO UPDATE SET turns = t.turns + excluded.turns, digest = t.digest # excluded.digest
    ), released AS (
      DELETE FROM quota.reservations r
      USING (
        SELECT d.turn_id FROM deleted d
        UNION
        SELECT a.turn_id FROM quota.adjustments a WHERE a.workspace_id = of_workspace AND a.month = of_month
      ) d
      WHERE r.workspace_id = of_workspace AND r.turn_id = d.turn_id AND r.month = of_month AND r.state <> 'held'
    )
    SELECT count(*) FROM deleted INTO pruned;
    RETURN pruned;
  END
  $$;

  -- Deletes up to max_rows reservations that were settled as void at least min_age ago, and at least a day ago. Keeps those that an adjustment
  -- made void: the usage ledger still has their turns. Returns their number.
  CREATE FUNCTION quota.prune_void_reservations(min_age interval, max_rows integer) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
  DECLARE
    pruned integer;
  BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtext('parley.prune_usage')) THEN
      RETURN NULL;
    END IF;
    DELETE FROM quota.reservations r
    USING (
      SELECT v.workspace_id, v.turn_id FROM quota.reservations v
      WHERE v.state = 'void' AND v.settled_at < now() - greatest(min_age, interval '1 day')
        AND NOT EXISTS (
          SELECT FROM quota.adjustments a WHERE a.workspace_id = v.workspace_id AND a.month = v.month AND a.turn_id = v.turn_id)
      ORDER BY v.settled_at LIMIT max_rows
      FOR UPDATE SKIP LOCKED
    ) v
    WHERE r.workspace_id = v.workspace_id AND r.turn_id = v.turn_id;
    GET DIAGNOSTICS pruned = ROW_COUNT;
    RETURN pruned;
  END
  $$;
`;

const AUDIT_LOG = `
  -- The service's role may read and insert rows. It may delete rows only by calling delete_expired_audit_log_entries.
  CREATE TABLE quota.audit_log (
    workspace_id   text NOT NULL,
    entry_id       bigint GENERATED ALWAYS AS IDENTITY,
    changed_at     timestamptz NOT NULL DEFAULT now(),
    -- The sub claim of the member's access token, NULL for the operator.
    member         text,
    method         text NOT NULL,
    -- Names and ids.
    target         jsonb NOT NULL,
    changed_fields text[] NOT NULL,
    PRIMARY KEY (workspace_id, entry_id)
  );
  CREATE INDEX audit_log_by_time ON quota.audit_log (changed_at);

  CREATE FUNCTION quota.delete_expired_audit_log_entries() RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = '' AS
  'DELETE FROM quota.audit_log WHERE changed_at < now() - interval ''400 days''';
`;
