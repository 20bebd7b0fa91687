import type { TestDatabase } from "@parley/test-support";
import pg from "pg";

/** What transcripts, usage and ledger say of a workspace, or of all together. */
export type Balance = {
  /** Turns that ended done. */
  done: number;
  used: number;
  ledger: number;
  held: number;
  /** Turns still open. */
  streaming: number;
  /** Outcomes that the quota service has not been told. */
  outbox: number;
  /** Workspaces and months for which done, used and ledger differ, or something is held. */
  unbalanced: number;
};

const BALANCE = `
  WITH turns AS (
    SELECT * FROM conversation.turns WHERE workspace_id = coalesce($1, workspace_id)
  ), usage AS (
    SELECT * FROM quota.usage WHERE workspace_id = coalesce($1, workspace_id)
  ), done AS (
    SELECT workspace_id, month, count(*) AS n FROM turns WHERE status = 'done' GROUP BY 1, 2
  ), ledger AS (
    SELECT workspace_id, month, count(*) AS n FROM quota.ledger WHERE workspace_id = coalesce($1, workspace_id) GROUP BY 1, 2
  ), books AS (
    SELECT coalesce(d.n, 0) AS done, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held, coalesce(l.n, 0) AS ledger
    FROM done d FULL JOIN usage u USING (workspace_id, month) FULL JOIN ledger l USING (workspace_id, month)
  )
  SELECT coalesce(sum(done), 0)::integer AS done, coalesce(sum(used), 0)::integer AS used,
         coalesce(sum(ledger), 0)::integer AS ledger, coalesce(sum(held), 0)::integer AS held,
         (SELECT count(*) FROM turns WHERE status = 'streaming')::integer AS streaming,
         (SELECT count(*) FROM conversation.outbox WHERE workspace_id = coalesce($1, workspace_id))::integer AS outbox,
         (count(*) FILTER (WHERE done <> used OR used <> ledger OR held <> 0))::integer AS unbalanced
  FROM books`;

/** Reads the books past the services, as a superuser: of one workspace, or of all. */
export async function readBalance(database: TestDatabase, workspaceId?: string): Promise<Balance> {
  return query<Balance>(database, BALANCE, [workspaceId ?? null]);
}

/** The first row of a query, or of the last of several, as a superuser. */
export async function query<T extends object>(
  database: Pick<TestDatabase, "url">,
  sql: string,
  values: unknown[] = [],
): Promise<T> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    // Several statements, which can have no values, have as many results.
    const results = [await client.query<T>(sql, values.length > 0 ? values : undefined)].flat();
    return results.at(-1)?.rows[0] as T;
  } finally {
    await client.end();
  }
}

/** Makes a plan of any size, which the product does not sell. */
export async function createPlan(database: TestDatabase, plan: string, cap: number): Promise<void> {
  await query(database, "INSERT INTO quota.plans (plan, monthly_cap) VALUES ($1, $2)", [plan, cap]);
}
