import { createLogger, type Database, openDatabase } from "@parley/service-kit";
import { migrate, revertMigrations } from "@parley/service-kit/migrations";
import { createDatabase, type TestDatabase } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CallRow, insertCalls, listCalls } from "../src/call-log/calls.store.ts";
import { migrations } from "./index.ts";

const TURN = "0192d3a4-0000-7000-8000-000000000001";
const row: CallRow = {
  workspaceId: "ws_1",
  callId: "0192d3a4-0000-4000-8000-000000000002",
  turnId: TURN,
  provider: "openai",
  model: "openai:gpt-4o",
  asked: "route:main",
  tokensIn: 2_147_483_647,
  tokensOut: 0,
  tokensCached: 5,
  tokensCacheWritten: 2,
  estimated: true,
  queueMs: 1,
  firstTokenMs: 2,
  latencyMs: 3,
  attempts: 4,
  failovers: 1,
  outcome: "complete",
  reason: "",
  finishDetail: "length",
  cost: "12345.0123456789",
  month: "2026-10",
  rounds: 2,
  toolCalls: 3,
  toolsMs: 4,
  tries: [
    {
      model: 'fake:"quoted", {braces}',
      startedMs: 0,
      queueMs: 1,
      sent: true,
      firstTokenMs: 2,
      latencyMs: 3,
      outcome: "complete",
      reason: "",
      next: "",
      providerStatus: 0,
      providerCode: "",
      providerMessage: "",
    },
  ],
  createdAt: new Date("2026-11-21T01:02:03.456Z"),
};

let testDatabase: TestDatabase;
let database: Database;
let target: Parameters<typeof migrate>[0];
beforeAll(async () => {
  testDatabase = await createDatabase();
  target = {
    url: testDatabase.url,
    schema: "llm",
    role: `parley_llm_${testDatabase.name}`,
    rolePassword: "llm-test",
    migrations,
  };
  await migrate(target);
  const roleUrl = new URL(testDatabase.url);
  [roleUrl.username, roleUrl.password] = [target.role, "llm-test"];
  database = openDatabase(
    { url: roleUrl.href, applicationName: "test", maxConnections: 2 },
    createLogger("test", "silent"),
  );
});
afterAll(async () => {
  await database.end();
  await testDatabase.drop();
});

test("a stored row is read unchanged, and storing it again has no effect", async () => {
  await insertCalls(database, [row]);
  await insertCalls(database, [
    { ...row, outcome: "cancelled" },
    { ...row, callId: "0192d3a4-0000-4000-8000-000000000003", cost: null },
  ]);
  expect(await listCalls(database, "ws_1", TURN)).toEqual([
    row,
    { ...row, callId: "0192d3a4-0000-4000-8000-000000000003", cost: null },
  ]);
});

test("every migration can be rolled back with rows in the table, and applied again", async () => {
  await insertCalls(database, [row]);
  expect(await revertMigrations(target, migrations.length)).toHaveLength(migrations.length);
  expect((await migrate(target)).applied).toHaveLength(migrations.length);
  await insertCalls(database, [row]);
  expect(await listCalls(database, "ws_1", TURN)).toEqual([row]);
});
