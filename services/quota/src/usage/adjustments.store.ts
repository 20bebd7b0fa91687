import { type Database, transaction } from "@parley/service-kit";

/** The operator's correction of a month's usage. The month is "YYYY-MM". */
export type UsageAdjustment = {
  id: string;
  month: string;
  amount: number;
  reason: string;
  operator: string;
  adjustedAt: Date;
};

export type NewAdjustment = Omit<UsageAdjustment, "adjustedAt"> & { workspaceId: string };

const COLUMNS = `adjustment_id AS id, to_char(month, 'YYYY-MM') AS month, amount, reason, operator, adjusted_at AS "adjustedAt"`;

const INSERT = `
  INSERT INTO quota.adjustments (workspace_id, adjustment_id, month, amount, reason, operator)
  SELECT workspace_id, $2, to_date($3, 'YYYY-MM'), $4, $5, $6 FROM quota.workspaces WHERE workspace_id = $1
  ON CONFLICT (workspace_id, adjustment_id) DO NOTHING`;

// The operator's adjustments have no turn_id. The adjustments by AdjustTurns have one.
const FIND = `SELECT ${COLUMNS} FROM quota.adjustments WHERE workspace_id = $1 AND adjustment_id = $2 AND turn_id IS NULL`;

// A correction changes the part of the usage that is charged to the plan.
const ADD_TO_USAGE = `
  UPDATE quota.usage SET used = used + $3
  WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM') AND used - credit_used - overage_used + $3 >= 0
  RETURNING used`;

/** Thrown to roll the transaction back. */
class UsageBelowZero extends Error {}

/**
 * Stores an adjustment and adds its amount to the month's usage. Idempotent by id. Returns the stored adjustment and its month's usage.
 * Returns undefined if the workspace is unknown, and `below_zero` if the usage would fall below 0.
 */
export async function insertAdjustment(
  database: Database,
  adjustment: NewAdjustment,
): Promise<{ adjustment: UsageAdjustment; used: number } | "below_zero" | undefined> {
  const { workspaceId, id, month, amount, reason, operator } = adjustment;
  try {
    return await transaction(database, async (connection) => {
      const { rowCount } = await connection.query(INSERT, [workspaceId, id, month, amount, reason, operator]);
      const { rows } = await connection.query<UsageAdjustment>(FIND, [workspaceId, id]);
      const [stored] = rows;
      if (stored === undefined) return undefined;
      await connection.query(
        "INSERT INTO quota.usage (workspace_id, month) VALUES ($1, to_date($2, 'YYYY-MM')) ON CONFLICT DO NOTHING",
        [workspaceId, stored.month],
      );
      const added = rowCount === 1 ? amount : 0;
      const usage = await connection.query<{ used: number }>(ADD_TO_USAGE, [workspaceId, stored.month, added]);
      if (usage.rows[0] === undefined) throw new UsageBelowZero();
      return { adjustment: stored, used: usage.rows[0].used };
    });
  } catch (error) {
    if (error instanceof UsageBelowZero) return "below_zero";
    throw error;
  }
}

/** Returns the operator's adjustments of a workspace's month, newest first. */
export async function listAdjustments(
  database: Database,
  { workspaceId, month, limit }: { workspaceId: string; month: string; limit: number },
): Promise<UsageAdjustment[]> {
  const { rows } = await database.query<UsageAdjustment>(
    `SELECT ${COLUMNS} FROM quota.adjustments
     WHERE workspace_id = $1 AND month = to_date($2, 'YYYY-MM') AND turn_id IS NULL
     ORDER BY adjusted_at DESC, adjustment_id LIMIT $3`,
    [workspaceId, month, limit],
  );
  return rows;
}
