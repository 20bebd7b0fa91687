import { createServiceDatabase, type ServiceDatabase } from "@parley/service-kit/testing";
import { migrations } from "../../migrations/index.ts";
import { insertWorkspace } from "../workspaces/workspaces.store.ts";

export const ROLE = "parley_quota";
export const ROLE_PASSWORD = "quota-test";

export type TestBooks = ServiceDatabase;

/** A migrated quota schema in a fresh database, for a test file. */
export function createTestBooks(): Promise<TestBooks> {
  return createServiceDatabase({ schema: "quota", role: ROLE, rolePassword: ROLE_PASSWORD, migrations });
}

let workspaces = 0;

/** A new workspace on a plan of `cap` messages. */
export async function createWorkspace({ database, admin }: TestBooks, cap: number): Promise<string> {
  const plan = `cap-${cap}`;
  await admin.query("INSERT INTO quota.plans VALUES ($1, $2) ON CONFLICT DO NOTHING", [plan, cap]);
  const id = `ws_${++workspaces}`;
  await insertWorkspace(database, id, id, plan);
  return id;
}

/** What the books say of a workspace, over all months. */
export async function booksOf({ admin }: TestBooks, workspaceId: string) {
  const { rows } = await admin.query<{ used: number; held: number; ledger: number; done: number; holds: number }>(
    `SELECT coalesce((SELECT sum(used) FROM quota.usage WHERE workspace_id = $1), 0)::integer AS used,
            coalesce((SELECT sum(held) FROM quota.usage WHERE workspace_id = $1), 0)::integer AS held,
            (SELECT count(*) FROM quota.ledger WHERE workspace_id = $1)::integer AS ledger,
            (SELECT count(*) FROM quota.reservations WHERE workspace_id = $1 AND state = 'done')::integer AS done,
            (SELECT count(*) FROM quota.reservations WHERE workspace_id = $1 AND state = 'held')::integer AS holds`,
    [workspaceId],
  );
  const [books] = rows;
  if (books === undefined) throw new Error("no books");
  return books;
}
