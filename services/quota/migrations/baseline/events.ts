/** Records when the usage of the current month reaches a threshold, or falls back below it. */
export const EVENTS = `
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
