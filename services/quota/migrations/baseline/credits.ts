/** Reserve beyond the plan's cap. Every call locks usage rows before credits, and credits before reservations. */
export const CREDITS = `
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
