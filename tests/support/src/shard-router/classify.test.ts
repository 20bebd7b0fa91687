import { beforeAll, describe, expect, test } from "vitest";
import { loadClassifier, type Verdict } from "./classify.ts";
import verdicts from "./verdicts.json" with { type: "json" };

let classify: (sql: string) => Verdict;
beforeAll(async () => {
  classify = await loadClassifier();
});

// verdicts.json has the statements of Parley's tests in November 2026, by what PgDog 0.1.52 did with them in strict mode.
describe("the verdict on a recorded statement is PgDog's:", () => {
  const isRefused = (sql: string) => classify(sql).route === "refused";
  test("routed", () => {
    expect(verdicts.routed.filter(isRefused)).toEqual([]);
  });
  test("refused", () => {
    expect(verdicts.refused.filter((sql) => !isRefused(sql))).toEqual([]);
  });
});

const key = (...keys: (number | string)[]) => ({
  route: "keys",
  keys: keys.map((each) => (typeof each === "number" ? { parameter: each } : { literal: each })),
});

test.each([
  ["SELECT 1 FROM quota.usage u WHERE u.month = $1 AND $2 = u.workspace_id", key(2)],
  ["SELECT 1 FROM quota.usage WHERE workspace_id = 'ws_1'", key("ws_1")],
  ["SELECT 1 FROM quota.usage WHERE workspace_id IN ($1, $2)", key(1, 2)],
  ["SELECT 1 FROM (SELECT FROM quota.usage WHERE workspace_id = $3) u", key(3)],
  ["WITH u AS (SELECT FROM quota.usage WHERE workspace_id = $1::text) UPDATE quota.ledger SET used = 0", key(1)],
  ["INSERT INTO quota.usage (month, workspace_id) VALUES ($1, $2)", key(2)],
  ["INSERT INTO quota.usage (month, workspace_id) SELECT now(), $2 FROM quota.months", key(2)],
  ["DELETE FROM quota.usage WHERE workspace_id = $1", key(1)],
  ["SELECT 1 FROM quota.usage u JOIN quota.ledger l ON l.workspace_id = $1", key(1)],
  ["WITH w AS (UPDATE quota.usage SET used = 0 WHERE workspace_id = $1) SELECT 1 FROM quota.ledger", key(1)],
  ["INSERT INTO quota.usage (workspace_id) SELECT workspace_id FROM quota.ledger WHERE workspace_id = $1", key(1)],
  ["SELECT 1 FROM quota.usage WHERE (workspace_id, month) = ($1, $2)", key(1)],
  ["SELECT 1 FROM quota.usage WHERE used = (SELECT used FROM quota.ledger WHERE workspace_id = $2)", key(2)],
  ["SELECT 1 FROM quota.usage WHERE workspace_id IS NOT DISTINCT FROM $1", key(1)],
])("finds the key of %s", (sql, verdict) => {
  expect(classify(sql)).toEqual(verdict);
});

test.each([
  "SELECT 1 FROM quota.usage",
  "SELECT 1 FROM quota.usage WHERE workspace_id = $1 OR month = $2",
  "SELECT 1 FROM quota.usage WHERE NOT workspace_id = $1",
  "SELECT 1 FROM quota.usage WHERE workspace_id <> $1",
  "SELECT 1 FROM quota.usage WHERE workspace_id = ANY ($1)",
  "SELECT 1 FROM quota.usage WHERE workspace_id = lower($1)",
  "SELECT 1 FROM quota.usage u JOIN quota.ledger l ON l.workspace_id = u.workspace_id",
  "WITH w AS (INSERT INTO quota.usage (workspace_id) VALUES ($1) RETURNING used) SELECT used FROM w",
  "INSERT INTO quota.usage (workspace_id) VALUES ($1), ($1)",
  "INSERT INTO quota.months (month) VALUES ($1)",
  "UPDATE quota.months SET closed_at = now()",
  "DECLARE rows CURSOR FOR SELECT 1 FROM quota.usage WHERE workspace_id = $1",
  "COPY quota.usage FROM STDIN",
  "SAVEPOINT a",
  "SELECT 1 FROM quota.usage WHERE workspace_id = $1; SELECT 2",
])("refuses %s", (sql) => {
  expect(classify(sql)).toMatchObject({ route: "refused" });
});

test.each([
  ["SELECT 1", "any"],
  ["SELECT month FROM quota.months", "any"],
  ["SELECT pg_advisory_xact_lock(hashtext($1))", "any"],
  ["SET LOCAL enable_sort = off", "set"],
])("finds no key in %s, which any shard could run", (sql, route) => {
  expect(classify(sql)).toEqual({ route });
});

test.each([
  ["BEGIN ISOLATION LEVEL REPEATABLE READ", "begin"],
  ["start transaction", "begin"],
  ["COMMIT", "commit"],
  ["ROLLBACK", "rollback"],
])("recognizes %s", (sql, command) => {
  expect(classify(sql)).toEqual({ route: "transaction", command });
});

test("reads the shard from PgDog's comment", () => {
  expect(classify("/* pgdog_shard: 3 */ SELECT 1 FROM quota.usage")).toEqual({ route: "shard", shard: 3 });
});

test("throws an error for invalid SQL", () => {
  expect(() => classify("SELEC 1")).toThrow("syntax error");
});
