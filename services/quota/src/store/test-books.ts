import { createLogger, type Database, migrate, openDatabase } from "@parley/service-kit";
import { createDatabase } from "@parley/testing";
import { migrations } from "../../migrations/index.ts";
import { insertWorkspace } from "./workspaces.ts";

export const ROLE = "parley_quota";
export const ROLE_PASSWORD = "quota-test";

export type TestBooks = {
  /** As the service's own role. */
  database: Database;
  /** As a superuser, for what the service may not do. */
  admin: Database;
  url: string;
  adminUrl: string;
  drop(): Promise<void>;
};

/** A migrated quota schema in a fresh database, for a test file. */
export async function createTestBooks(): Promise<TestBooks> {
  const { url: adminUrl, drop } = await createDatabase();
  await migrate({ url: adminUrl, schema: "quota", role: ROLE, rolePassword: ROLE_PASSWORD, migrations });
  const own = new URL(adminUrl);
  own.username = ROLE;
  own.password = ROLE_PASSWORD;
  const open = (url: string) =>
    openDatabase({ url, applicationName: "test", maxConnections: 30 }, createLogger("test", "silent"));
  const [database, admin] = [open(own.href), open(adminUrl)];
  return {
    database,
    admin,
    url: own.href,
    adminUrl,
    drop: async () => {
      await Promise.all([database.end(), admin.end()]);
      await drop();
    },
  };
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
