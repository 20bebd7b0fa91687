import { type Database, sqlState } from "@parley/service-kit";

export type Workspace = { id: string; name: string; plan: string; cap: number; createdAt: Date; retentionDays: number };

const COLUMNS = `w.workspace_id AS id, w.name, w.plan, p.monthly_cap AS cap, w.created_at AS "createdAt", w.retention_days AS "retentionDays"`;
const FROM = "quota.workspaces w JOIN quota.plans p USING (plan)";

export async function findWorkspace(database: Database, id: string): Promise<Workspace | undefined> {
  const { rows } = await database.query<Workspace>(`SELECT ${COLUMNS} FROM ${FROM} WHERE w.workspace_id = $1`, [id]);
  return rows[0];
}

/** Lists all workspaces, oldest first. */
export async function listWorkspaces(database: Database): Promise<Workspace[]> {
  const { rows } = await database.query<Workspace>(
    `SELECT ${COLUMNS} FROM ${FROM} ORDER BY w.created_at, w.workspace_id`,
  );
  return rows;
}

/** Lists the names of all plans, smallest cap first. */
export async function listPlans(database: Database): Promise<string[]> {
  const { rows } = await database.query<{ plan: string }>("SELECT plan FROM quota.plans ORDER BY monthly_cap");
  return rows.map((row) => row.plan);
}

const UNIQUE_VIOLATION = "23505";

/** Inserts a workspace. Returns false when the ID is taken. */
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

/** Changes a workspace's plan. Returns false when the workspace is unknown. */
export async function updatePlan(database: Database, id: string, plan: string): Promise<boolean> {
  const { rowCount } = await database.query("UPDATE quota.workspaces SET plan = $2 WHERE workspace_id = $1", [
    id,
    plan,
  ]);
  return rowCount === 1;
}

/** Sets how many days sessions are kept; 0 means without limit. Returns false when the workspace is unknown. */
export async function updateRetention(database: Database, id: string, days: number): Promise<boolean> {
  const { rowCount } = await database.query("UPDATE quota.workspaces SET retention_days = $2 WHERE workspace_id = $1", [
    id,
    days,
  ]);
  return rowCount === 1;
}
