import type { Knex } from "@parley/service-kit";

export const name = "0010_months";

/**
 * months         one row for each month with usage. The worker that prunes usage adds it before the month is closed, so that Settle has a row to
 *                lock.
 * ledger_totals  for each closed month of a workspace, the number of rows that were pruned from the usage ledger, and the XOR of the first 64
 *                bits of the MD5 of each pruned turn's id.
 *
 * The service's role may only add and read rows of the usage ledger. It can delete them only through prune_ledger, which runs as the migrating
 * role. While another replica runs prune_ledger or prune_void_reservations, a call of either returns NULL.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE quota.months (
      month      date PRIMARY KEY,
      created_at timestamptz NOT NULL DEFAULT now(),
      closed_at  timestamptz,
      pruned_at  timestamptz
    );

    CREATE TABLE quota.ledger_totals (
      workspace_id text NOT NULL,
      month        date NOT NULL,
      turns        integer NOT NULL,
      digest       bigint NOT NULL,
      PRIMARY KEY (workspace_id, month)
    );

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
        WHERE v.state = 'void' AND coalesce(v.settled_at, v.reserved_at) < now() - greatest(min_age, interval '1 day')
          AND NOT EXISTS (
            SELECT FROM quota.adjustments a WHERE a.workspace_id = v.workspace_id AND a.month = v.month AND a.turn_id = v.turn_id)
        ORDER BY coalesce(v.settled_at, v.reserved_at) LIMIT max_rows
        FOR UPDATE SKIP LOCKED
      ) v
      WHERE r.workspace_id = v.workspace_id AND r.turn_id = v.turn_id;
      GET DIAGNOSTICS pruned = ROW_COUNT;
      RETURN pruned;
    END
    $$;
  `);
}

/** Drops the totals, so the audit then reports a difference for each pruned month. The months' usage stays. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION quota.prune_ledger(text, date, integer);
    DROP FUNCTION quota.prune_void_reservations(interval, integer);
    DROP TABLE quota.ledger_totals, quota.months;
  `);
}
