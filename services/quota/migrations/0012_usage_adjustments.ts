import type { Knex } from "@parley/service-kit";

export const name = "0012_usage_adjustments";

/**
 * Lets an operator adjust a month's usage by any amount except 0. Such an adjustment has no turn, and names the operator. Its id is the
 * caller's request id.
 */
export async function up(knex: Knex): Promise<void> {
  await knex.raw(`
    ALTER TABLE quota.adjustments
      ADD COLUMN operator text,
      ALTER COLUMN turn_id DROP NOT NULL,
      DROP CONSTRAINT adjustments_amount_check,
      ADD CONSTRAINT adjustments_entry_check
        CHECK (CASE WHEN turn_id IS NULL THEN amount <> 0 AND operator IS NOT NULL ELSE amount IN (-1, 1) AND operator IS NULL END)
  `);
}

/** Deletes the adjustments without a turn and subtracts their amounts from the usage, so that used = ledger rows + adjustments still holds. */
export async function down(knex: Knex): Promise<void> {
  await knex.raw(`
    UPDATE quota.usage u SET used = u.used - a.amount
    FROM (
      SELECT workspace_id, month, sum(amount) AS amount FROM quota.adjustments WHERE turn_id IS NULL GROUP BY workspace_id, month
    ) a
    WHERE u.workspace_id = a.workspace_id AND u.month = a.month;
    DELETE FROM quota.adjustments WHERE turn_id IS NULL;
    ALTER TABLE quota.adjustments
      DROP CONSTRAINT adjustments_entry_check,
      ADD CONSTRAINT adjustments_amount_check CHECK (amount IN (-1, 1)),
      ALTER COLUMN turn_id SET NOT NULL,
      DROP COLUMN operator;
  `);
}
