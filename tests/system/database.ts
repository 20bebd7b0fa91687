import { setTimeout as sleep } from "node:timers/promises";
import type { TestDatabase } from "@parley/test-support";
import pg from "pg";

// Reads and writes the services' tables directly, as a superuser.

/** Counts that must reconcile, of one workspace or of all. */
export type Balance = {
  /** Turns with the status done. */
  done: number;
  used: number;
  ledger: number;
  held: number;
  /** Open turns. */
  streaming: number;
  /** Settlements that the conversation service has not sent yet. */
  outbox: number;
  /** Pairs of workspace and month whose done, used and ledger differ or that have holds. */
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
  ), counts AS (
    SELECT coalesce(d.n, 0) AS done, coalesce(u.used, 0) AS used, coalesce(u.held, 0) AS held, coalesce(l.n, 0) AS ledger
    FROM done d FULL JOIN usage u USING (workspace_id, month) FULL JOIN ledger l USING (workspace_id, month)
  )
  SELECT coalesce(sum(done), 0)::integer AS done, coalesce(sum(used), 0)::integer AS used,
         coalesce(sum(ledger), 0)::integer AS ledger, coalesce(sum(held), 0)::integer AS held,
         (SELECT count(*) FROM turns WHERE status = 'streaming')::integer AS streaming,
         (SELECT count(*) FROM conversation.outbox WHERE workspace_id = coalesce($1, workspace_id))::integer AS outbox,
         (count(*) FILTER (WHERE done <> used OR used <> ledger OR held <> 0))::integer AS unbalanced
  FROM counts`;

/** Reads the balance of one workspace or, without an id, of all. */
export async function readBalance(database: TestDatabase, workspaceId?: string): Promise<Balance> {
  return query<Balance>(database, BALANCE, [workspaceId ?? null]);
}

/**
 * Waits until there are no holds, no open turns and no unsent settlements. Returns the balance, also if that takes longer than `timeoutMs`.
 * Retries errors until then, because the database may be restarting.
 */
export async function waitUntilSettled(database: TestDatabase, timeoutMs: number): Promise<Balance> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const isLate = performance.now() > deadline;
    const balance = await readBalance(database).catch((error: unknown) => {
      if (isLate) throw error;
      return undefined;
    });
    const isSettled = balance?.held === 0 && balance.streaming === 0 && balance.outbox === 0;
    if (balance && (isSettled || isLate)) return balance;
    await sleep(250);
  }
}

/** Runs SQL and returns the first row of its last statement. SQL with values must be a single statement. */
export async function query<T extends object>(
  database: Pick<TestDatabase, "url">,
  sql: string,
  values: unknown[] = [],
): Promise<T> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    // pg returns an array when the SQL has several statements.
    const results = [await client.query<T>(sql, values.length > 0 ? values : undefined)].flat();
    return results.at(-1)?.rows[0] as T;
  } finally {
    await client.end();
  }
}

/** Inserts a plan with SQL, because no admin RPC can create one. */
export async function createPlan(database: TestDatabase, plan: string, cap: number): Promise<void> {
  await query(database, "INSERT INTO quota.plans (plan, monthly_cap) VALUES ($1, $2)", [plan, cap]);
}
