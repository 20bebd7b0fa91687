import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase, usageOf } from "../testing/quota-database.ts";
import { reserve } from "./reservations.store.ts";
import { settle } from "./settlements.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

const client = (name: string) => Buffer.from(name.padEnd(16, "."));

async function hold(workspace: string, name: string, turn: string = randomUUID()): Promise<string> {
  const result = await reserve(quota.database, workspace, turn, { client: client(name) });
  return result?.status ?? "unknown";
}

function countBy(statuses: readonly string[]): Record<string, number> {
  return Object.fromEntries(
    Object.entries(Object.groupBy(statuses, (each) => each)).map(([k, v]) => [k, v?.length ?? 0]),
  );
}

const release = (workspaceId: string, turnIds: readonly string[], outcome: "done" | "void" = "void") =>
  settle(
    quota.database,
    turnIds.map((turnId) => ({ workspaceId, turnId, outcome, month: undefined })),
  );

test("two clients with 100 concurrent replies hold a tenth of the month each, and a third client is served", async () => {
  const workspace = await createWorkspace(quota, 100);
  const statuses = await Promise.all(Array.from({ length: 100 }, (_, i) => hold(workspace, `client-${i % 2}`)));
  expect(countBy(statuses)).toEqual({ held: 20, client_limit: 80 });
  expect(await hold(workspace, "visitor")).toBe("held");
  expect(await usageOf(quota, workspace)).toMatchObject({ heldCounter: 21, heldReservations: 21 });
});

test("the share follows what is left, and is at least 2", async () => {
  const workspace = await createWorkspace(quota, 100);
  await quota.admin.query(
    "INSERT INTO quota.usage (workspace_id, month, used) VALUES ($1, date_trunc('month', now() AT TIME ZONE 'UTC')::date, 61)",
    [workspace],
  );
  const holdTen = (name: string) => Promise.all(Array.from({ length: 10 }, () => hold(workspace, name)));
  expect(countBy(await holdTen("a"))).toEqual({ held: 3, client_limit: 7 });
  await quota.admin.query("UPDATE quota.usage SET used = 90 WHERE workspace_id = $1", [workspace]);
  expect(countBy(await holdTen("b"))).toEqual({ held: 2, client_limit: 8 });
});

test("a client that drops all the replies it may hold stays below the workspace's bound on unpaid replies", async () => {
  const workspace = await createWorkspace(quota, 5_000);
  const statuses = await Promise.all(Array.from({ length: 300 }, () => hold(workspace, "a")));
  expect(countBy(statuses)).toEqual({ held: 83, client_limit: 217 });
  expect(await hold(workspace, "visitor")).toBe("held");
});

test("at the cap every client gets exceeded, even one that holds its share", async () => {
  const workspace = await createWorkspace(quota, 25);
  const statuses = await Promise.all(Array.from({ length: 200 }, (_, i) => hold(workspace, `client-${i % 100}`)));
  expect(statuses.filter((status) => status === "held")).toHaveLength(25);
  expect(await hold(workspace, "client-0")).toBe("exceeded");
  expect(await hold(workspace, "new")).toBe("exceeded");
});

test("concurrent calls never exceed the share while other calls settle turns of the same client", async () => {
  const workspace = await createWorkspace(quota, 50);
  const held = new Set<string>();
  let most = 0;
  const reserveOne = async () => {
    const turn = randomUUID();
    if ((await hold(workspace, "a", turn)) !== "held") return;
    held.add(turn);
    // A turn in `held` may already be settled, so the database's own count is checked.
    const { heldReservations } = await usageOf(quota, workspace);
    most = Math.max(most, heldReservations);
  };
  for (let round = 0; round < 30; round++) {
    const some = [...held].slice(0, 3);
    for (const turn of some) held.delete(turn);
    await Promise.all([...Array.from({ length: 12 }, reserveOne), release(workspace, some)]);
  }
  expect(most).toBe(5);
  await release(workspace, [...held]);
  expect(await usageOf(quota, workspace)).toMatchObject({ heldCounter: 0, heldReservations: 0 });
});

test("a settled turn releases the share once and keeps no hash of its client", async () => {
  const workspace = await createWorkspace(quota, 10);
  const turns = [randomUUID(), randomUUID()];
  for (const turn of turns) expect(await hold(workspace, "a", turn)).toBe("held");
  // A repeated call returns the existing hold.
  expect(await hold(workspace, "a", turns[0])).toBe("held");
  expect(await hold(workspace, "a")).toBe("client_limit");
  for (let i = 0; i < 3; i++) await release(workspace, turns.slice(0, 1), "done");
  expect(await hold(workspace, "a")).toBe("held");
  expect(await hold(workspace, "a")).toBe("client_limit");
  const { rows } = await quota.admin.query(
    "SELECT count(*)::integer AS n FROM quota.reservations WHERE workspace_id = $1 AND state <> 'held' AND client IS NOT NULL",
    [workspace],
  );
  expect(rows).toEqual([{ n: 0 }]);
});

test("holds of the month before do not reduce the share", async () => {
  const workspace = await createWorkspace(quota, 10);
  for (let i = 0; i < 2; i++) await hold(workspace, "a");
  await quota.admin.query("UPDATE quota.reservations SET month = month - interval '1 month' WHERE workspace_id = $1", [
    workspace,
  ]);
  expect(await hold(workspace, "a")).toBe("held");
});

test("turns without a client have no share", async () => {
  const workspace = await createWorkspace(quota, 20);
  const results = await Promise.all(Array.from({ length: 20 }, () => reserve(quota.database, workspace, randomUUID())));
  for (const result of results) expect(result?.status).toBe("held");
});
