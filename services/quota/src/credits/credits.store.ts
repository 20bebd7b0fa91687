import type { Database } from "@parley/service-kit";

/** Messages that a workspace has beside its plan. */
export type Credit = {
  id: string;
  messages: number;
  used: number;
  held: number;
  /** Null if the credit never expires. */
  expiresAt: Date | null;
  addedAt: Date;
  revokedAt: Date | null;
  reason: string;
  operator: string;
  /** The messages that new turns can use. */
  left: number;
};

export type NewCredit = Pick<Credit, "id" | "messages" | "expiresAt" | "reason" | "operator"> & { workspaceId: string };

const COLUMNS = `c.credit_id AS id, c.messages, c.used, c.held, c.expires_at AS "expiresAt", c.added_at AS "addedAt",
  c.revoked_at AS "revokedAt", c.reason, c.operator, CASE WHEN quota.is_usable(c) THEN c.messages - c.used - c.held ELSE 0 END AS left`;

/** Bounds the list. A workspace has a few credits a year. */
const MAX_LISTED = 1_000;

// A deleted workspace gets no credits.
const INSERT = `
  INSERT INTO quota.credits (workspace_id, credit_id, messages, expires_at, reason, operator)
  SELECT workspace_id, $2, $3, $4, $5, $6 FROM quota.workspaces WHERE workspace_id = $1 AND deleted_at IS NULL
  ON CONFLICT (workspace_id, credit_id) DO NOTHING`;

/** Stores a credit. Idempotent by id: returns the stored credit. Returns undefined if the workspace is unknown or deleted. */
export async function insertCredit(database: Database, credit: NewCredit): Promise<Credit | undefined> {
  const { workspaceId, id, messages, expiresAt, reason, operator } = credit;
  await database.query(INSERT, [workspaceId, id, messages, expiresAt, reason, operator]);
  return findCredit(database, workspaceId, id);
}

/** Ends the use of a credit by new turns. Returns undefined if the workspace has no such credit. */
export async function revokeCredit(database: Database, workspaceId: string, id: string): Promise<Credit | undefined> {
  await database.query(
    "UPDATE quota.credits SET revoked_at = coalesce(revoked_at, now()) WHERE workspace_id = $1 AND credit_id = $2",
    [workspaceId, id],
  );
  return findCredit(database, workspaceId, id);
}

async function findCredit(database: Database, workspaceId: string, id: string): Promise<Credit | undefined> {
  const { rows } = await database.query<Credit>(
    `SELECT ${COLUMNS} FROM quota.credits c WHERE c.workspace_id = $1 AND c.credit_id = $2`,
    [workspaceId, id],
  );
  return rows[0];
}

/** Lists a workspace's credits, the newest first, at most 1,000. */
export async function listCredits(database: Database, workspaceId: string): Promise<Credit[]> {
  const { rows } = await database.query<Credit>(
    `SELECT ${COLUMNS} FROM quota.credits c WHERE c.workspace_id = $1 ORDER BY c.added_at DESC, c.credit_id LIMIT ${MAX_LISTED}`,
    [workspaceId],
  );
  return rows;
}
