import type { Outcome } from "@parley/rpc/outcomes";

/** How many turns that end at the workspace's cap keep their texts, for each workspace and UTC day. */
export const MAX_STORED_QUOTA_REFUSALS = 1_000;
/** The same for each other outcome of a turn without a reply. Owners read such turns after an outage, so there is room for a day's traffic. */
export const MAX_STORED_REFUSALS = 5_000;

const TODAY = "(now() AT TIME ZONE 'UTC')::date";

/**
 * Whether a turn is a refusal: it ended without a reply and counts against no limit of the workspace. Visitors can cause any number of
 * refusals, so only the first ones of a day keep what the visitor sent.
 */
export function isRefusal(outcome: Outcome, reply: string): boolean {
  return outcome === "quota_exceeded" || (outcome !== "done" && reply === "");
}

export function maxStoredRefusals(outcome: Outcome): number {
  return outcome === "quota_exceeded" ? MAX_STORED_QUOTA_REFUSALS : MAX_STORED_REFUSALS;
}

/** SQL expressions. `outcome` is that of a turn, or the name of another thing that visitors may leave without paying for it. */
type RefusalExpressions = { workspace: string; outcome: string; max: string };

/**
 * A CTE `room` with one row and one column `keeps_texts`: whether the workspace may store the texts of another refusal today. It takes no lock,
 * so concurrent statements can each store one refusal above the limit.
 */
export function roomSql({ workspace, outcome, max }: RefusalExpressions): string {
  return `
  room AS (
    SELECT NOT EXISTS (
      SELECT FROM conversation.refusal_counts
      WHERE workspace_id = ${workspace} AND outcome = ${outcome} AND day >= ${TODAY} AND turns >= ${max}
    ) AS keeps_texts
  )`;
}

/** A CTE that counts each row of the CTE `source` as a refusal, unless `room` has no room. Above the limit it writes and locks nothing. */
export function countRefusalSql({ workspace, outcome }: RefusalExpressions, source: string): string {
  return `
  refusal AS (
    INSERT INTO conversation.refusal_counts AS r (workspace_id, outcome, day, turns)
    SELECT ${workspace}, ${outcome}, ${TODAY}, 1 FROM ${source}, room WHERE room.keeps_texts
    ON CONFLICT (workspace_id, outcome) DO UPDATE
      SET turns = CASE WHEN r.day < excluded.day THEN 1 ELSE r.turns + 1 END, day = greatest(r.day, excluded.day)
  )`;
}
