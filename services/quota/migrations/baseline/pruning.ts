/** The functions run as the migrating role. While another replica runs either of them, a call returns NULL. */
export const PRUNING = `
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
