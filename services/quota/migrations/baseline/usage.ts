export const USAGE = `
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
    -- The counted and the held messages, including those that are charged to credits or counted as overage.
    used         integer NOT NULL DEFAULT 0 CHECK (used >= 0),
    held         integer NOT NULL DEFAULT 0 CHECK (held >= 0),
    -- The latest UTC day of the month with unpaid replies, and their number.
    unpaid_day   date,
    unpaid       integer NOT NULL DEFAULT 0,
    -- The part of unpaid that the operator's last reset forgave.
    unpaid_reset integer NOT NULL DEFAULT 0,
    -- The parts of used and held that are charged to credits, and that are overage. The rest is charged to the plan.
    credit_used  integer NOT NULL DEFAULT 0 CHECK (credit_used >= 0),
    credit_held  integer NOT NULL DEFAULT 0 CHECK (credit_held >= 0),
    overage_used integer NOT NULL DEFAULT 0 CHECK (overage_used >= 0),
    overage_held integer NOT NULL DEFAULT 0 CHECK (overage_held >= 0),
    -- The highest threshold that the messages charged to the plan have reached, in percent, and how often they have fallen below one, plus 1.
    reached      integer NOT NULL DEFAULT 0,
    generation   integer NOT NULL DEFAULT 1,
    -- The messages from which, and below which, record_usage_events must compare the usage with the thresholds again.
    reaches_at   integer NOT NULL DEFAULT 0,
    falls_below  integer NOT NULL DEFAULT 0,
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
    -- What the turn's message is charged to: NULL for the plan, or for a turn that was settled without a hold. Never changes.
    charge       text CHECK (charge IN ('credit', 'overage')),
    credit_id    uuid,
    PRIMARY KEY (workspace_id, turn_id),
    CONSTRAINT reservations_credit_check CHECK ((charge IS NOT DISTINCT FROM 'credit') = (credit_id IS NOT NULL))
  );
  CREATE INDEX reservations_held ON quota.reservations (reserved_at) WHERE state = 'held';
  -- For the reconciliation, which reads counted turns by settlement time.
  CREATE INDEX reservations_settled ON quota.reservations (settled_at, workspace_id, turn_id) WHERE state = 'done';
  -- Finds old void reservations, which are pruned.
  CREATE INDEX reservations_void ON quota.reservations (settled_at) WHERE state = 'void';
  -- Counts a client's holds.
  CREATE INDEX reservations_client ON quota.reservations (workspace_id, client) WHERE state = 'held' AND client IS NOT NULL;

  -- Proves the parts of used and held that are credits and overage.
  CREATE INDEX reservations_charged ON quota.reservations (workspace_id, month, charge) WHERE charge IS NOT NULL;

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
