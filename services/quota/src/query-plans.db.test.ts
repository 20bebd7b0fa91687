import { randomBytes, randomUUID } from "node:crypto";
import type { SettleOutcomeName } from "@parley/rpc/outcomes";
import type { Database } from "@parley/service-kit";
import {
  explainAnalyze,
  findSequentialScans,
  type PlanNode,
  recordStatements,
  selectAllEntries,
  selectEntries,
} from "@parley/service-kit/testing";
import { fillHistory, quickOrFull } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adjustTurns } from "./reconciliation/adjustments.store.ts";
import { findReservations, listReservations } from "./reconciliation/reservations.store.ts";
import { createQuotaDatabase, type QuotaDatabase } from "./testing/quota-database.ts";
import { listUnpaid, readUnpaidToday } from "./unpaid/unpaid.store.ts";
import { measureHolds } from "./usage/holds.store.ts";
import { reserve } from "./usage/reservations.store.ts";
import { type Settlement, settle } from "./usage/settlements.store.ts";
import { currentMonth, listTurns, readMonth, readMonthPage, readUsage } from "./usage/usage.store.ts";
import { findWorkspace, listRetentions } from "./workspaces/workspaces.store.ts";

const MESSAGES = quickOrFull(200_000, 10_000_000);
const WORKSPACES = 2_000;

let quota: QuotaDatabase;
let workspaces: string[];
let month: string;
beforeAll(async () => {
  quota = await createQuotaDatabase();
  const history = await fillHistory(quota.adminUrl, { messages: MESSAGES, workspaces: WORKSPACES });
  console.info(`${history.turns} turns created in ${Math.round(history.seconds)} s`);
  await quota.admin.query(`
    INSERT INTO quota.audit_log (workspace_id, method, target, changed_fields)
    SELECT 'gen_' || n, 'SetPlan', '{}', '{}' FROM generate_series(1, ${WORKSPACES}) n;
    INSERT INTO quota.audit_log (workspace_id, method, target, changed_fields, changed_at)
    SELECT 'gen_' || n % 100, 'SetPlan', '{}', '{}', now() - make_interval(hours => n) FROM generate_series(1, 5000) n`);
  await quota.admin.query("ANALYZE quota.audit_log");
  workspaces = history.workspaceIds;
  month = await currentMonth(quota.database);
}, 1_800_000);
afterAll(() => quota.drop());

/** Leaves out small tables, for which a sequential scan is best. */
const largeTables = (tables: string[]) => tables.filter((table) => !["plans", "months"].includes(table));

const batch = (outcome: SettleOutcomeName): Settlement[] =>
  Array.from({ length: 500 }, (_, i) => ({
    workspaceId: workspaces[i % 50] ?? "",
    turnId: randomUUID(),
    outcome,
    month: outcome === "done" ? month : undefined,
  }));

/** The query of the function quota.count_client_holds. */
const COUNT_CLIENT_HOLDS = `
  SELECT count(*) FROM quota.reservations r
  WHERE r.workspace_id = $1 AND r.client = $3 AND r.state = 'held' AND r.month = $2`;

const reservationWindow = (state: "held" | "done") => ({
  state,
  workspaceId: "",
  since: new Date(Date.now() - 7 * 86_400_000).toISOString(),
  minAgeSeconds: 120,
});

test("findSequentialScans reports a sequential scan for each plan of a statement", async () => {
  const text = "SELECT FROM quota.reservations WHERE month = $1";
  // Once in the plan for the values, once in the generic plan.
  expect(await findSequentialScans(quota.admin, { text, values: ["2026-01-01"] })).toEqual([
    "reservations",
    "reservations",
  ]);
});

test.each<[string, (database: Database) => Promise<unknown>]>([
  ["reserving a message", (database) => reserve(database, workspaces[0] ?? "", randomUUID())],
  [
    "reserving a message for a client",
    (database) => reserve(database, workspaces[0] ?? "", randomUUID(), { client: randomBytes(16) }),
  ],
  [
    "counting a client's holds",
    (database) => database.query(COUNT_CLIENT_HOLDS, [workspaces[0], `${month}-01`, randomBytes(16)]),
  ],
  [
    "listing the unpaid replies of a day",
    (database) => listUnpaid(database, { workspaceId: "", after: "", limit: 500 }),
  ],
  ["reading the unpaid replies of a day by plan", (database) => readUnpaidToday(database, { share: 0.8, limit: 200 })],
  ["settling a batch of done turns", (database) => settle(database, batch("done"))],
  ["settling a batch of void turns", (database) => settle(database, batch("void"))],
  ["settling one turn", (database) => settle(database, batch("done").slice(0, 1))],
  // A hold is a row of quota.reservations in the state 'held'.
  ["measuring the holds", (database) => measureHolds(database)],
  ["reading a workspace's usage", (database) => readUsage(database, workspaces[0] ?? "", month)],
  ["finding a workspace", (database) => findWorkspace(database, workspaces[0] ?? "")],
  ["reading a page of a month's totals", (database) => readMonthPage(database, month, { after: "gen_5", limit: 20 })],
  ["adjusting turns", (database) => adjustTurns(database, { turns: batch("done"), outcome: "void", reason: "r" })],
  ["reading the states of turns", (database) => findReservations(database, batch("done"))],
  [
    "listing holds",
    (database) => listReservations(database, reservationWindow("held"), { position: undefined, limit: 1_000 }),
  ],
  [
    "listing counted turns",
    (database) => listReservations(database, reservationWindow("done"), { position: undefined, limit: 1_000 }),
  ],
  [
    "reading the audit log",
    (database) => selectEntries(database, "quota", { workspaceId: "gen_1", before: "1000000", limit: 50 }),
  ],
  [
    "reading the audit log of all workspaces",
    (database) =>
      selectAllEntries(database, "quota", {
        since: new Date(Date.now() - 86_400_000).toISOString(),
        before: { position: new Date(Date.now() - 60_000).toISOString(), entryId: "1000000" },
        limit: 50,
      }),
  ],
  ["listing a month's turns", (database) => listTurns(database, workspaces[0] ?? "", month)],
])("%s scans no large table sequentially", async (_, run) => {
  const statements = await recordStatements(quota.database, run);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements)
    expect(largeTables(await findSequentialScans(quota.admin, statement)), statement.text).toEqual([]);
});

test("listing the short retentions reads only the workspaces that have one, in order from an index", async () => {
  await quota.admin.query(`
    UPDATE quota.workspaces SET retention_minutes = 43200;
    UPDATE quota.workspaces SET retention_minutes = 30 WHERE workspace_id = '${workspaces[0]}'`);
  await quota.admin.query("VACUUM (ANALYZE) quota.workspaces");
  const range = { minMinutes: 1, maxMinutes: 1_439 };
  const after = { retentionMinutes: 0, workspaceId: "" };
  const [statement] = await recordStatements(quota.database, async (database) => {
    const listed = await listRetentions(database, { ...range, after, limit: 1_001 });
    expect(listed).toEqual([{ workspaceId: workspaces[0], retentionMinutes: 30 }]);
  });
  if (statement === undefined) throw new Error("no statement");
  for (const root of await explainAnalyze(quota.admin, statement)) {
    const plan = JSON.stringify(root);
    expect(plan).toContain('"Index Name":"workspaces_retention"');
    expect(plan).not.toContain('"Node Type":"Sort"');
    expect(root["Shared Hit Blocks"] + root["Shared Read Blocks"]).toBeLessThan(8);
  }
});

test("listing a page of counted turns reads only the page's rows, by index", async () => {
  await quota.admin.query("VACUUM (ANALYZE) quota.reservations");
  const statements = await recordStatements(quota.database, (database) =>
    listReservations(database, { ...reservationWindow("done"), since: "" }, { position: undefined, limit: 100 }),
  );
  const statement = statements.at(-1);
  if (statement === undefined) throw new Error("no statement");
  for (const root of await explainAnalyze(quota.admin, statement)) {
    const plan = JSON.stringify(root);
    expect(plan).toContain('"Index Name":"reservations_settled"');
    expect(plan).not.toContain('"Node Type":"Sort"');
    expect(root["Actual Rows"]).toBe(100);
    expect(root["Shared Hit Blocks"] + root["Shared Read Blocks"]).toBeLessThan(100 * 4);
  }
  // The timeout is long, because in `pnpm test:full` the UPDATE changes millions of rows.
}, 600_000);

test.each([
  ["all workspaces", ""],
  ["one workspace", "gen_1"],
])("reading a month's totals of %s skips the usage ledger's other months", async (_, workspace) => {
  const [statement] = await recordStatements(quota.database, (database) => readMonth(database, workspace, month));
  if (statement === undefined) throw new Error("no statement");
  expect(await findSequentialScans(quota.admin, statement)).not.toContain("ledger");
  const { rows: counts } = await quota.admin.query<{ n: number }>(
    "SELECT count(*) AS n FROM quota.ledger WHERE month = to_date($1, 'YYYY-MM') AND $2 IN ('', workspace_id)",
    [month, workspace],
  );
  // For each workspace, the query also reads a row to find the next workspace. The plan reports the mean rows per loop, with one loop per
  // workspace. PostgreSQL before 18 rounds the mean, so the product of rows and loops is inexact. Three rows per workspace allow for
  // the additional row and the rounding.
  for (const root of await explainAnalyze(quota.admin, statement))
    expect(countLedgerRowsRead(root)).toBeLessThan((counts[0]?.n ?? 0) + 3 * WORKSPACES);
});

/** Counts the rows of the usage ledger that an executed plan has read. */
function countLedgerRowsRead(node: PlanNode): number {
  const own = node["Relation Name"] === "ledger" ? node["Actual Rows"] * node["Actual Loops"] : 0;
  return own + (node.Plans ?? []).reduce((sum, each) => sum + countLedgerRowsRead(each), 0);
}
