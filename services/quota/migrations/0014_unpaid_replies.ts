import type { Knex } from "@parley/service-kit";

export const name = "0014_unpaid_replies";

/** So that each statement locks only one busy table. */
export const config = { transaction: false };

/**
 * usage.unpaid           unpaid replies of the UTC day `unpaid_day`, the latest day of the month that has any
 * usage.unpaid_reset     the part of `unpaid` that the operator's last reset forgave
 * plans.unpaid_per_day   the bound on a day's unpaid replies; NULL for the default, which depends on the cap
 * reservations.client    a keyed hash of the client, NULL once the turn is settled
 * reservations.unpaid_day  the UTC day in which the turn's reply counts as unpaid
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw("ALTER TABLE quota.plans ADD COLUMN IF NOT EXISTS unpaid_per_day integer");
  await knex.raw(`
    ALTER TABLE quota.usage
      ADD COLUMN IF NOT EXISTS unpaid_day date,
      ADD COLUMN IF NOT EXISTS unpaid integer NOT NULL DEFAULT 0,
      ADD COLUMN IF NOT EXISTS unpaid_reset integer NOT NULL DEFAULT 0
  `);
  await knex.raw(`
    ALTER TABLE quota.reservations
      ADD COLUMN IF NOT EXISTS client bytea,
      ADD COLUMN IF NOT EXISTS unpaid_day date
  `);
  // A VOLATILE function reads with a new snapshot. Reserve calls it when it has locked the month's usage row, so it sees every hold of the
  // month, also those that were committed while Reserve waited for the lock.
  await knex.raw(`
    CREATE OR REPLACE FUNCTION quota.count_client_holds(of_workspace text, of_month date, of_client bytea) RETURNS integer
    LANGUAGE plpgsql VOLATILE AS $$
    BEGIN
      RETURN (
        SELECT count(*) FROM quota.reservations r
        WHERE r.workspace_id = of_workspace AND r.client = of_client AND r.state = 'held' AND r.month = of_month
      );
    END
    $$
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP FUNCTION IF EXISTS quota.count_client_holds(text, date, bytea)");
  await knex.raw("ALTER TABLE quota.reservations DROP COLUMN IF EXISTS client, DROP COLUMN IF EXISTS unpaid_day");
  await knex.raw(`
    ALTER TABLE quota.usage
      DROP COLUMN IF EXISTS unpaid_day, DROP COLUMN IF EXISTS unpaid, DROP COLUMN IF EXISTS unpaid_reset
  `);
  await knex.raw("ALTER TABLE quota.plans DROP COLUMN IF EXISTS unpaid_per_day");
}
