/** SQL expression for the current UTC day by the database's clock. */
export const TODAY = "(now() AT TIME ZONE 'UTC')::date";

/**
 * SQL expression for the unpaid replies of a day after which Reserve refuses turns. `p` is the row of the workspace's plan. The default of a
 * plan is a twentieth of its cap, and at least 50.
 */
export const UNPAID_LIMIT = "coalesce(p.unpaid_per_day, greatest(50, p.monthly_cap / 20))";
