import type { Knex } from "@parley/service-kit";

export const name = "0003_adjustments";

/**
 * adjustments  one row for each correction of a settled turn's outcome, never updated. The usage ledger keeps the turn's row, so
 *              that used = rows of the ledger + sum of the adjustments.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    CREATE TABLE quota.adjustments (
      workspace_id  text NOT NULL,
      adjustment_id uuid NOT NULL DEFAULT gen_random_uuid(),
      month         date NOT NULL,
      turn_id       uuid NOT NULL,
      amount        integer NOT NULL CHECK (amount IN (-1, 1)),
      reason        text NOT NULL,
      adjusted_at   timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (workspace_id, adjustment_id)
    );
    CREATE INDEX adjustments_month ON quota.adjustments (workspace_id, month, turn_id);
  `);
}

export async function down(knex: Knex): Promise<void> {
  await knex.raw("DROP TABLE quota.adjustments");
}
