import { type Database, sqlState } from "@parley/service-kit";

export type Workspace = {
  id: string;
  name: string;
  plan: string;
  cap: number;
  maxKnowledgeDocuments: number;
  maxKnowledgeCharacters: number;
  createdAt: Date;
  retentionMinutes: number;
  deletedAt: Date | null;
};

const COLUMNS = `w.workspace_id AS id, w.name, w.plan, p.monthly_cap AS cap, w.created_at AS "createdAt",
  w.retention_minutes AS "retentionMinutes", w.deleted_at AS "deletedAt", p.knowledge_documents AS "maxKnowledgeDocuments", p.knowledge_characters AS "maxKnowledgeCharacters"`;
const FROM = "quota.workspaces w JOIN quota.plans p USING (plan)";

/** Returns a workspace; undefined if it is unknown or deleted. */
export async function findWorkspace(database: Database, id: string): Promise<Workspace | undefined> {
  const { rows } = await database.query<Workspace>(
    `SELECT ${COLUMNS} FROM ${FROM} WHERE w.workspace_id = $1 AND w.deleted_at IS NULL`,
    [id],
  );
  return rows[0];
}

/** Lists all workspaces, including deleted ones, oldest first. */
export async function listWorkspaces(database: Database): Promise<Workspace[]> {
  const { rows } = await database.query<Workspace>(
    `SELECT ${COLUMNS} FROM ${FROM} ORDER BY w.created_at, w.workspace_id`,
  );
  return rows;
}

/** Returns whether a workspace is deleted; false if it is unknown. */
export async function isDeleted(database: Database, id: string): Promise<boolean> {
  const { rowCount } = await database.query(
    "SELECT FROM quota.workspaces WHERE workspace_id = $1 AND deleted_at IS NOT NULL",
    [id],
  );
  return rowCount === 1;
}

/** Marks a workspace as deleted or not deleted. Deleting it again does not change `deleted_at`. Returns false if the workspace is unknown. */
export async function updateDeleted(database: Database, id: string, deleted: boolean): Promise<boolean> {
  const { rowCount } = await database.query(
    "UPDATE quota.workspaces SET deleted_at = CASE WHEN $2 THEN coalesce(deleted_at, now()) END WHERE workspace_id = $1",
    [id, deleted],
  );
  return rowCount === 1;
}

const UNIQUE_VIOLATION = "23505";

/** Inserts a workspace. Returns false if the id is taken. */
export async function insertWorkspace(database: Database, id: string, name: string, plan: string): Promise<boolean> {
  try {
    await database.query("INSERT INTO quota.workspaces (workspace_id, name, plan) VALUES ($1, $2, $3)", [
      id,
      name,
      plan,
    ]);
    return true;
  } catch (error) {
    if (sqlState(error) === UNIQUE_VIOLATION) return false;
    throw error;
  }
}

// FOR UPDATE makes the second of two concurrent changes wait, so that its previous plan is the plan that the first change sets.
const UPDATE_PLAN = `
  WITH previous AS MATERIALIZED (
    SELECT workspace_id, plan FROM quota.workspaces WHERE workspace_id = $1 FOR UPDATE
  ), changed AS (
    UPDATE quota.workspaces w SET plan = $2 FROM previous p WHERE w.workspace_id = p.workspace_id RETURNING p.workspace_id, p.plan
  ), history AS (
    INSERT INTO quota.plan_changes (workspace_id, previous_plan, plan)
    SELECT workspace_id, plan, $2 FROM changed WHERE plan <> $2
  )
  SELECT FROM changed`;

/** Sets a workspace's plan. Stores a row in quota.plan_changes if the plan differs. Returns false if the workspace is unknown. */
export async function updatePlan(database: Database, id: string, plan: string): Promise<boolean> {
  const { rowCount } = await database.query(UPDATE_PLAN, [id, plan]);
  return rowCount === 1;
}

/** Sets how many minutes sessions are kept; 0 means without limit. Returns false if the workspace is unknown. */
export async function updateRetention(database: Database, id: string, minutes: number): Promise<boolean> {
  const { rowCount } = await database.query(
    "UPDATE quota.workspaces SET retention_minutes = $2 WHERE workspace_id = $1",
    [id, minutes],
  );
  return rowCount === 1;
}

/** Sets at which percentages of the cap the workspace's usage records events. Returns false if the workspace is unknown. */
export async function updateThresholds(
  database: Database,
  id: string,
  thresholds: readonly number[],
): Promise<boolean> {
  const { rowCount } = await database.query(
    "UPDATE quota.workspaces SET usage_thresholds = $2 WHERE workspace_id = $1",
    [id, thresholds],
  );
  return rowCount === 1;
}

export type WorkspaceRetention = { workspaceId: string; retentionMinutes: number };

/** `after` is the last workspace of the previous page. */
export type RetentionPage = {
  minMinutes: number;
  maxMinutes: number;
  after: WorkspaceRetention;
  limit: number;
};

const LIST_RETENTIONS = `
  SELECT workspace_id AS "workspaceId", retention_minutes AS "retentionMinutes" FROM quota.workspaces
  WHERE retention_minutes > 0 AND deleted_at IS NULL AND retention_minutes BETWEEN $1 AND $2
    AND (retention_minutes, workspace_id) > ($3::integer, $4::text)
  ORDER BY retention_minutes, workspace_id LIMIT $5`;

/** Lists the workspaces whose retention is in a range, shortest first. Leaves out deleted workspaces. */
export async function listRetentions(
  database: Database,
  { minMinutes, maxMinutes, after, limit }: RetentionPage,
): Promise<WorkspaceRetention[]> {
  const values = [minMinutes, maxMinutes, after.retentionMinutes, after.workspaceId, limit];
  const { rows } = await database.query<WorkspaceRetention>(LIST_RETENTIONS, values);
  return rows;
}
