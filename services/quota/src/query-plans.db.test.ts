import { randomUUID } from "node:crypto";
import type { Database } from "@parley/service-kit";
import { statementsOf, tablesScanned } from "@parley/service-kit/testing";
import { figure, fillHistory } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestBooks, type TestBooks } from "./testing/quota-database.ts";
import { measureHolds } from "./usage/holds.store.ts";
import { reserve, type Settlement, settle } from "./usage/reservations.store.ts";
import { currentMonth, listTurns, readMonth, readUsage } from "./usage/usage.store.ts";
import { findWorkspace } from "./workspaces/workspaces.store.ts";

const MESSAGES = figure(200_000, 10_000_000);
const WORKSPACES = 2_000;

let books: TestBooks;
let workspaces: string[];
let month: string;
beforeAll(async () => {
  books = await createTestBooks();
  const history = await fillHistory(books.adminUrl, { messages: MESSAGES, workspaces: WORKSPACES });
  console.info(`${history.turns} turns, made in ${Math.round(history.seconds)} s`);
  workspaces = history.workspaceIds;
  month = await currentMonth(books.database);
}, 1_800_000);
afterAll(() => books.drop());

/** Plans of a few rows are read whole, as they should be. */
const largeTables = (tables: string[]) => tables.filter((table) => table !== "plans");

const batch = (outcome: "done" | "void"): Settlement[] =>
  Array.from({ length: 500 }, (_, i) => ({
    workspaceId: workspaces[i % 50] ?? "",
    turnId: randomUUID(),
    outcome,
    month: outcome === "done" ? month : undefined,
  }));

test("EXPLAIN shows a scan where there is one, so that the tests below can fail", async () => {
  const text = "SELECT FROM quota.reservations WHERE month = $1";
  expect(await tablesScanned(books.admin, { text, values: ["2026-01-01"] })).toEqual(["reservations", "reservations"]);
});

test.each<[string, (database: Database) => Promise<unknown>]>([
  ["holding a message", (database) => reserve(database, workspaces[0] ?? "", randomUUID())],
  ["settling a batch of done turns", (database) => settle(database, batch("done"))],
  ["settling a batch of void turns", (database) => settle(database, batch("void"))],
  ["settling one turn", (database) => settle(database, batch("done").slice(0, 1))],
  ["measuring what is held", (database) => measureHolds(database)],
  ["a workspace's usage", (database) => readUsage(database, workspaces[0] ?? "", month)],
  ["finding a workspace", (database) => findWorkspace(database, workspaces[0] ?? "")],
  ["the audit's closer look", (database) => listTurns(database, workspaces[0] ?? "", month)],
])("%s reads no table from end to end", async (_, use) => {
  const statements = await statementsOf(books.database, use);
  expect(statements.length).toBeGreaterThan(0);
  for (const statement of statements)
    expect(largeTables(await tablesScanned(books.admin, statement)), statement.text).toEqual([]);
});

test.each(["", "gen_1"])(
  "the audit of a month (workspace '%s') passes the ledger's other months over",
  async (workspace) => {
    const [statement] = await statementsOf(books.database, (database) => readMonth(database, workspace, month));
    if (statement === undefined) throw new Error("no statement");
    expect(await tablesScanned(books.admin, statement)).not.toContain("ledger");
    const { rows } = await books.admin.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${statement.text}`, statement.values);
    const { rows: counts } = await books.admin.query<{ n: number }>(
      "SELECT count(*) AS n FROM quota.ledger WHERE month = to_date($1, 'YYYY-MM') AND $2 IN ('', workspace_id)",
      [month, workspace],
    );
    expect(entriesRead(rows[0]["QUERY PLAN"][0].Plan)).toBeLessThan((counts[0]?.n ?? 0) + 3 * WORKSPACES);
  },
);

type Node = { "Relation Name"?: string; "Actual Rows": number; "Actual Loops": number; Plans?: Node[] };

/** Rows of the ledger that a plan has read. */
function entriesRead(node: Node): number {
  const own = node["Relation Name"] === "ledger" ? node["Actual Rows"] * node["Actual Loops"] : 0;
  return own + (node.Plans ?? []).reduce((sum, each) => sum + entriesRead(each), 0);
}
