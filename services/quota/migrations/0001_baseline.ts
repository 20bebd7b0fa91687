import type { Knex } from "@parley/service-kit";

export const name = "0001_baseline";

/** Creates the quota schema. A month is the first day of a UTC month. */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(PLANS_AND_WORKSPACES);
  await knex.raw(USAGE);
  await knex.raw(CREDITS);
  await knex.raw(EVENTS);
  await knex.raw(USAGE_LEDGER);
  await knex.raw(PRUNING);
  await knex.raw(AUDIT_LOG);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION quota.delete_expired_audit_log_entries(), quota.prune_void_reservations(interval, integer),
      quota.prune_ledger(text, date, integer), quota.count_client_holds(text, date, bytea),
      quota.reserve_beyond_plan(text, uuid, bytea, integer), quota.charges_differ(text, date, boolean), quota.find_room(text, date), quota.client_share(integer, integer),
      quota.is_usable(quota.credits);
    DROP TRIGGER usage_inserted ON quota.usage;
    DROP TRIGGER usage_changed ON quota.usage;
    DROP TRIGGER workspace_changed ON quota.workspaces;
    DROP FUNCTION quota.on_usage_changed(), quota.on_workspace_changed(), quota.record_usage_events(text, date), quota.lock_events(),
      quota.event_id_of(text, text, date, integer, integer);
    DROP TABLE quota.audit_log, quota.events, quota.credits, quota.ledger_totals, quota.adjustments, quota.ledger, quota.reservations, quota.usage, quota.months,
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

/** Reserve beyond the plan's cap. Every call locks usage rows before credits, and credits before reservations. */
const CREDITS = `
  -- Messages that a workspace has bought beside its plan. The row stays when they are used, expired or revoked.
  CREATE TABLE quota.credits (
    workspace_id text NOT NULL,
    -- The caller's request id.
    credit_id    uuid NOT NULL,
    messages     integer NOT NULL CHECK (messages > 0),
    -- The counted and the held messages. Together they exceed messages only if the reconciler counts a turn whose hold was released.
    used         integer NOT NULL DEFAULT 0 CHECK (used >= 0),
    held         integer NOT NULL DEFAULT 0 CHECK (held >= 0),
    -- NULL: never. A message that is held before this time may be counted after it.
    expires_at   timestamptz,
    added_at     timestamptz NOT NULL DEFAULT now(),
    revoked_at   timestamptz,
    reason       text NOT NULL,
    operator     text NOT NULL,
    PRIMARY KEY (workspace_id, credit_id)
  );

  -- Whether new turns may use a credit.
  CREATE FUNCTION quota.is_usable(c quota.credits) RETURNS boolean LANGUAGE sql VOLATILE AS
  'SELECT c.revoked_at IS NULL AND (c.expires_at IS NULL OR c.expires_at > clock_timestamp()) AND c.used + c.held < c.messages';

  -- How many messages one client may hold at a time. remaining: the messages that are not used. The edge learns that a reply is unpaid when it
  -- ends, so a client may drop all its running replies at once. The third keeps them below the workspace's bound, together with the unpaid
  -- replies that the edge permits to a client.
  CREATE FUNCTION quota.client_share(remaining integer, unpaid_limit integer) RETURNS integer LANGUAGE sql IMMUTABLE AS
  'SELECT greatest(2, least(remaining / 10, unpaid_limit / 3))';

  -- The messages that a workspace has left in a month, from its plan, its usable credits and the overage: those that are not used (remaining),
  -- and those that are neither used nor held (free). A plan with a cap of 0 disables a workspace, so its credits are not used either.
  CREATE FUNCTION quota.find_room(of_workspace text, of_month date,
    OUT plan_free integer, OUT overage_free integer, OUT remaining integer, OUT free integer)
  LANGUAGE sql VOLATILE AS $$
    SELECT greatest(plan.free, 0), greatest(overage.free, 0),
           greatest(plan.free + u.plan_held, 0) + greatest(overage.free + u.overage_held, 0) + credit.remaining,
           greatest(plan.free, 0) + greatest(overage.free, 0) + credit.free
    FROM quota.workspaces w
    JOIN quota.plans p USING (plan)
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(m.used - m.credit_used - m.overage_used), 0)::integer AS plan_used,
             coalesce(sum(m.held - m.credit_held - m.overage_held), 0)::integer AS plan_held,
             coalesce(sum(m.overage_used), 0)::integer AS overage_used, coalesce(sum(m.overage_held), 0)::integer AS overage_held
      FROM quota.usage m WHERE m.workspace_id = of_workspace AND m.month = of_month
    ) u
    CROSS JOIN LATERAL (SELECT p.monthly_cap - u.plan_used - u.plan_held AS free) plan
    CROSS JOIN LATERAL (
      SELECT CASE WHEN p.monthly_cap > 0 THEN p.monthly_overage ELSE 0 END - u.overage_used - u.overage_held AS free
    ) overage
    CROSS JOIN LATERAL (
      SELECT coalesce(sum(c.messages - c.used), 0)::integer AS remaining, coalesce(sum(c.messages - c.used - c.held), 0)::integer AS free
      FROM quota.credits c WHERE c.workspace_id = of_workspace AND p.monthly_cap > 0 AND quota.is_usable(c)
    ) credit
    WHERE w.workspace_id = of_workspace
  $$;

  -- Whether a workspace's charges differ: the credits and the overage of a month's usage row from the month's reservations, unless some of these
  -- were pruned, or the credits of all its usage rows from the credits themselves.
  CREATE FUNCTION quota.charges_differ(of_workspace text, of_month date, is_pruned boolean) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT (is_pruned IS NOT TRUE AND (u.credit_used, u.credit_held, u.overage_used, u.overage_held)
             <> (r.credit_used, r.credit_held, r.overage_used, r.overage_held))
           OR (u.all_used, u.all_held) <> (c.used, c.held)
    FROM (
      SELECT coalesce(sum(credit_used) FILTER (WHERE month = of_month), 0) AS credit_used,
             coalesce(sum(credit_held) FILTER (WHERE month = of_month), 0) AS credit_held,
             coalesce(sum(overage_used) FILTER (WHERE month = of_month), 0) AS overage_used,
             coalesce(sum(overage_held) FILTER (WHERE month = of_month), 0) AS overage_held,
             coalesce(sum(credit_used), 0) AS all_used, coalesce(sum(credit_held), 0) AS all_held
      FROM quota.usage WHERE workspace_id = of_workspace
    ) u
    CROSS JOIN (
      SELECT count(*) FILTER (WHERE charge = 'credit' AND state = 'done') AS credit_used,
             count(*) FILTER (WHERE charge = 'credit' AND state = 'held') AS credit_held,
             count(*) FILTER (WHERE charge = 'overage' AND state = 'done') AS overage_used,
             count(*) FILTER (WHERE charge = 'overage' AND state = 'held') AS overage_held
      FROM quota.reservations WHERE workspace_id = of_workspace AND month = of_month AND charge IS NOT NULL
    ) r
    CROSS JOIN (SELECT coalesce(sum(used), 0) AS used, coalesce(sum(held), 0) AS held FROM quota.credits WHERE workspace_id = of_workspace) c
  $$;

  -- Reserves a message for a turn that Reserve refused on the plan's messages alone. Takes it from the plan, else from the usable credit that
  -- expires first, else from the overage. Returns no row if the turn stays refused. A VOLATILE function reads with a new snapshot for each of
  -- its statements. It locks the month's usage row first, so it sees every change that other calls have made to the workspace's messages.
  CREATE FUNCTION quota.reserve_beyond_plan(of_workspace text, of_turn uuid, of_client bytea, of_unpaid_limit integer)
  RETURNS TABLE (held_month date, plan_used integer)
  LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    today date := (now() AT TIME ZONE 'UTC')::date;
    this_month date := date_trunc('month', now() AT TIME ZONE 'UTC')::date;
    u quota.usage;
    room record;
    chosen text;
    chosen_credit uuid;
  BEGIN
    SELECT * INTO u FROM quota.usage WHERE workspace_id = of_workspace AND month = this_month FOR NO KEY UPDATE;
    SELECT * INTO room FROM quota.find_room(of_workspace, this_month);
    IF u.unpaid_day = today AND u.unpaid - u.unpaid_reset >= of_unpaid_limit THEN
      RETURN;
    END IF;
    IF of_client IS NOT NULL AND u.held >= quota.client_share(room.remaining, of_unpaid_limit)
       AND quota.count_client_holds(of_workspace, this_month, of_client) >= quota.client_share(room.remaining, of_unpaid_limit) THEN
      RETURN;
    END IF;
    IF room.plan_free <= 0 THEN
      SELECT c.credit_id INTO chosen_credit FROM quota.credits c WHERE c.workspace_id = of_workspace AND quota.is_usable(c)
      ORDER BY c.expires_at, c.credit_id LIMIT 1 FOR NO KEY UPDATE;
      UPDATE quota.credits c SET held = c.held + 1 WHERE c.workspace_id = of_workspace AND c.credit_id = chosen_credit;
      chosen := CASE WHEN chosen_credit IS NOT NULL THEN 'credit' WHEN room.overage_free > 0 THEN 'overage' END;
      IF chosen IS NULL THEN
        RETURN;
      END IF;
    END IF;
    UPDATE quota.usage v
    SET held = v.held + 1,
        credit_held = v.credit_held + (chosen IS NOT DISTINCT FROM 'credit')::integer,
        overage_held = v.overage_held + (chosen IS NOT DISTINCT FROM 'overage')::integer
    WHERE v.workspace_id = of_workspace AND v.month = this_month
    RETURNING v.month, v.used + v.held - v.credit_used - v.credit_held - v.overage_used - v.overage_held INTO held_month, plan_used;
    INSERT INTO quota.reservations (workspace_id, turn_id, month, state, client, charge, credit_id)
    VALUES (of_workspace, of_turn, this_month, 'held', of_client, chosen, chosen_credit);
    RETURN NEXT;
  END
  $$;
`;

/** Records when the usage of the current month reaches a threshold, or falls back below it. */
const EVENTS = `
  -- One row per event. The role deletes old rows and changes none.
  CREATE TABLE quota.events (
    workspace_id text NOT NULL,
    -- The order of the events. See record_events.
    event_id     bigint GENERATED ALWAYS AS IDENTITY,
    -- Derived from the other columns, so an event that is recorded again after a restore of the database has the same id.
    id           uuid NOT NULL,
    type         text NOT NULL CHECK (type IN ('usage.threshold', 'usage.resolved', 'usage.month_closed')),
    occurred_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    month        date NOT NULL,
    -- 0 for usage.month_closed.
    threshold    integer NOT NULL,
    generation   integer NOT NULL,
    -- The messages that are charged to the plan, or all messages for usage.month_closed.
    used         integer NOT NULL,
    cap          integer NOT NULL,
    PRIMARY KEY (workspace_id, event_id)
  );
  CREATE UNIQUE INDEX events_once ON quota.events (workspace_id, month, type, threshold, generation);
  CREATE INDEX events_in_order ON quota.events (event_id);
  CREATE INDEX events_by_time ON quota.events (occurred_at);

  CREATE FUNCTION quota.event_id_of(of_workspace text, of_type text, of_month date, of_threshold integer, of_generation integer) RETURNS uuid
  LANGUAGE sql IMMUTABLE AS
  $$SELECT md5(concat_ws(' ', 'quota', of_workspace, of_type, to_char(of_month, 'YYYY-MM'), of_threshold, of_generation))::uuid$$;

  -- Every transaction that adds events takes this lock before PostgreSQL assigns their event_id, and holds it until it ends. ListEvents takes the
  -- lock exclusively. So when it reads, no transaction is running that will commit an event with a lower event_id than those it reads.
  CREATE FUNCTION quota.lock_events() RETURNS void LANGUAGE sql VOLATILE AS
  $$SELECT pg_advisory_xact_lock_shared(hashtext('parley.usage_events'))$$;

  -- Compares a month's usage with the workspace's thresholds, and records each threshold that it has reached since the last call, or from which it
  -- has fallen back. Sets the usage at which the next call is necessary. Only the current month has such events.
  CREATE FUNCTION quota.record_usage_events(of_workspace text, of_month date) RETURNS void
  LANGUAGE plpgsql VOLATILE AS $$
  DECLARE
    u quota.usage;
    plan_cap integer;
    percents integer[];
    plan_used integer;
    now_reached integer;
  BEGIN
    IF of_month <> date_trunc('month', now() AT TIME ZONE 'UTC')::date THEN
      RETURN;
    END IF;
    -- The lock comes first: a concurrent change of the plan either has committed, or waits for this lock and then calls this function too.
    SELECT * INTO u FROM quota.usage v WHERE v.workspace_id = of_workspace AND v.month = of_month FOR NO KEY UPDATE;
    SELECT p.monthly_cap, w.usage_thresholds INTO plan_cap, percents
    FROM quota.workspaces w JOIN quota.plans p USING (plan) WHERE w.workspace_id = of_workspace;
    -- A cap of 0 disables the workspace. What it has reached stays until it has another plan.
    IF u.workspace_id IS NULL OR plan_cap IS NULL OR plan_cap = 0 THEN
      RETURN;
    END IF;
    plan_used := u.used - u.credit_used - u.overage_used;
    now_reached := coalesce((SELECT max(t) FROM unnest(percents) t WHERE plan_used::bigint * 100 >= t::bigint * plan_cap), 0);
    IF EXISTS (SELECT FROM unnest(percents) t WHERE t > least(now_reached, u.reached) AND t <= greatest(now_reached, u.reached)) THEN
      PERFORM quota.lock_events();
      INSERT INTO quota.events (workspace_id, id, type, month, threshold, generation, used, cap)
      SELECT of_workspace, quota.event_id_of(of_workspace, e.type, of_month, t, u.generation), e.type, of_month, t, u.generation, plan_used, plan_cap
      FROM unnest(percents) t
      CROSS JOIN (SELECT CASE WHEN now_reached > u.reached THEN 'usage.threshold' ELSE 'usage.resolved' END AS type) e
      WHERE t > least(now_reached, u.reached) AND t <= greatest(now_reached, u.reached)
      ORDER BY t
      ON CONFLICT DO NOTHING;
    END IF;
    UPDATE quota.usage v
    SET reached = now_reached,
        generation = u.generation + (now_reached < u.reached)::integer,
        reaches_at = coalesce((SELECT min(ceil(t::numeric * plan_cap / 100)) FROM unnest(percents) t WHERE t > now_reached), 2147483647),
        falls_below = ceil(now_reached::numeric * plan_cap / 100)
    WHERE v.workspace_id = of_workspace AND v.month = of_month;
  END
  $$;

  CREATE FUNCTION quota.on_usage_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM quota.record_usage_events(NEW.workspace_id, NEW.month);
    RETURN NULL;
  END
  $$;
  -- Reserve changes only held, so it fires no trigger. PostgreSQL calls the function only if the condition is true.
  CREATE TRIGGER usage_inserted AFTER INSERT ON quota.usage FOR EACH ROW WHEN (NEW.used > 0) EXECUTE FUNCTION quota.on_usage_changed();
  CREATE TRIGGER usage_changed AFTER UPDATE OF used ON quota.usage FOR EACH ROW
  WHEN (NEW.used - NEW.credit_used - NEW.overage_used >= NEW.reaches_at OR NEW.used - NEW.credit_used - NEW.overage_used < NEW.falls_below)
  EXECUTE FUNCTION quota.on_usage_changed();

  CREATE FUNCTION quota.on_workspace_changed() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM quota.record_usage_events(NEW.workspace_id, date_trunc('month', now() AT TIME ZONE 'UTC')::date);
    RETURN NULL;
  END
  $$;
  CREATE TRIGGER workspace_changed AFTER UPDATE OF plan, usage_thresholds ON quota.workspaces FOR EACH ROW
  WHEN (NEW.plan <> OLD.plan OR NEW.usage_thresholds <> OLD.usage_thresholds)
  EXECUTE FUNCTION quota.on_workspace_changed();
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
    -- With arrays, PostgreSQL looks each turn up by the primary keys, also if the tables have no statistics yet. A join of 2,000 rows could take 10 s.
    WITH deleted AS (
      DELETE FROM quota.ledger l
      WHERE l.workspace_id = of_workspace AND l.month = of_month AND l.turn_id = ANY (ARRAY(
        SELECT p.turn_id FROM quota.ledger p WHERE p.workspace_id = of_workspace AND p.month = of_month
        ORDER BY p.turn_id LIMIT max_rows
      ))
      RETURNING l.turn_id
    ), total AS (
      INSERT INTO quota.ledger_totals AS t (workspace_id, month, turns, digest)
      SELECT of_workspace, of_month, count(*), bit_xor(('x' || left(md5(d.turn_id::text), 16))::bit(64)::bigint)
      FROM deleted d HAVING count(*) > 0
      ON CONFLICT (workspace_id, month) DO UPDATE SET turns = t.turns + excluded.turns, digest = t.digest # excluded.digest
    ), released AS (
      DELETE FROM quota.reservations r
      WHERE r.workspace_id = of_workspace AND r.month = of_month AND r.state <> 'held' AND r.turn_id = ANY (ARRAY(
        SELECT d.turn_id FROM deleted d
        UNION
        SELECT a.turn_id FROM quota.adjustments a WHERE a.workspace_id = of_workspace AND a.month = of_month
      ))
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
