import type { Knex } from "@parley/service-kit";

export const name = "0025_months";

/**
 * closed_months  the months that the quota service has closed, copied from there.
 * turn_totals    the done turns that were pruned from a closed month: their number, and the XOR of the first 64 bits of the MD5 of each id.
 *
 * The service's role may read the totals and add rows. It can change a row only through prune_turns, which runs as the migrating role.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE conversation.closed_months (
      month     date PRIMARY KEY,
      closed_at timestamptz NOT NULL,
      pruned_at timestamptz
    );

    CREATE TABLE conversation.turn_totals (
      workspace_id text NOT NULL,
      month        date NOT NULL,
      turns        integer NOT NULL,
      digest       bigint NOT NULL,
      PRIMARY KEY (month, workspace_id)
    );

    -- Moves up to max_rows done turns of a workspace's closed month to the totals. Returns their number.
    CREATE FUNCTION conversation.prune_turns(of_workspace text, of_month date, max_rows integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
    DECLARE
      pruned integer;
    BEGIN
      IF of_month > (now() AT TIME ZONE 'UTC')::date - interval '4 months'
         OR NOT EXISTS (SELECT FROM conversation.closed_months m WHERE m.month = of_month AND m.closed_at < now() - interval '1 day') THEN
        RAISE EXCEPTION 'month % is not closed, or too recent', of_month USING ERRCODE = 'object_not_in_prerequisite_state';
      END IF;
      WITH deleted AS (
        DELETE FROM conversation.turns t
        USING (
          SELECT p.turn_id FROM conversation.turns p
          WHERE p.status = 'done' AND p.month = of_month AND p.workspace_id = of_workspace
          LIMIT max_rows
          FOR UPDATE SKIP LOCKED
        ) p
        WHERE t.workspace_id = of_workspace AND t.turn_id = p.turn_id
        RETURNING t.turn_id
      ), total AS (
        INSERT INTO conversation.turn_totals AS t (workspace_id, month, turns, digest)
        SELECT of_workspace, of_month, count(*), bit_xor(('x' || left(md5(d.turn_id::text), 16))::bit(64)::bigint)
        FROM deleted d HAVING count(*) > 0
        ON CONFLICT (workspace_id, month) DO UPDATE SET turns = t.turns + excluded.turns, digest = t.digest # excluded.digest
      )
      SELECT count(*) FROM deleted INTO pruned;
      RETURN pruned;
    END
    $$;
  `);
}

/** Drops the totals, so the audit then reports a difference for each pruned month. The months' usage stays. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    DROP FUNCTION conversation.prune_turns(text, date, integer);
    DROP TABLE conversation.turn_totals, conversation.closed_months;
  `);
}
