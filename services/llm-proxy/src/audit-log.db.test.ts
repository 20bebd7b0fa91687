import { Code, ConnectError } from "@connectrpc/connect";
import {
  createAuditLogCounter,
  createLogger,
  Lifecycle,
  openAuditLog,
  Registry,
  singleShard,
} from "@parley/service-kit";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { migrations } from "../migrations/index.ts";
import { startTestProxy, type TestProxy } from "./testing/llm-proxy.ts";

const log = createLogger("test", "silent");

let proxy: TestProxy;
let lifecycle: Lifecycle;
beforeAll(async () => {
  proxy = await startTestProxy({ config: "{}" });
  lifecycle = new Lifecycle(log);
});
afterAll(async () => {
  await lifecycle.close();
  await proxy.drop();
});
afterEach(() => proxy.database.query("DELETE FROM llm.audit_log WHERE method = 'Configuration/Reload'"));

const anHourAgo = () => new Date(Date.now() - 3_600_000).toISOString();
const listAll = (fields: { since?: string; pageSize?: number; pageToken?: string } = {}) =>
  proxy.admin.auditLog.listAllAuditLogEntries({ since: anHourAgo(), ...fields });
const summaries = async () =>
  (await listAll({ pageSize: 500 })).entries.map(({ method, target }) => `${method} ${target.file} ${target.result}`);

test("lists a refused and an accepted LLM_CONFIG, newest first, and the migrations with their release", async () => {
  proxy.writeConfig("providers: { secret-marker: 7 }");
  await expect.poll(summaries, { timeout: 10_000 }).toHaveLength(2);
  proxy.writeConfig("routes: {}");
  await expect.poll(summaries, { timeout: 10_000 }).toHaveLength(3);
  const { entries } = await listAll();
  expect(entries.map(({ method, target, workspaceId, member }) => ({ method, target, workspaceId, member }))).toEqual([
    ...["accepted", "refused"].map((result) => ({
      method: "Configuration/Reload",
      target: { file: "LLM_CONFIG", result },
      ...{ workspaceId: "", member: "" },
    })),
    {
      method: "Schema/Migrate",
      target: {
        release: expect.stringMatching(/^\d+\.\d+\.\d+/),
        from: migrations[0]?.name,
        to: migrations.at(-1)?.name,
        migrations: String(migrations.length),
      },
      ...{ workspaceId: "", member: "" },
    },
  ]);
  expect((await listAll({ since: new Date(Date.now() + 60_000).toISOString() })).entries).toEqual([]);
  await proxy.database.query(
    "UPDATE llm.audit_log SET changed_at = now() - interval '25 hours' WHERE method = 'Schema/Migrate'",
  );
  expect((await listAll({ since: "" })).entries).toHaveLength(2);
});

test("the same reload within a minute is one line, and a day has at most 100 lines of reloads", async () => {
  const registry = new Registry();
  const auditLog = openAuditLog(singleShard(proxy.database), "llm", createAuditLogCounter(registry), log, lifecycle);
  const record = async (file: string) => {
    auditLog.recordReload({ file, result: "refused" });
    // The lines of one connection pool may be inserted at the same time.
    await proxy.database.query("SELECT pg_sleep(0.05)");
  };
  await record("KEY");
  await record("KEY");
  await expect.poll(async () => (await summaries()).filter((each) => each.includes("KEY"))).toHaveLength(1);
  await proxy.database.query(
    "UPDATE llm.audit_log SET changed_at = now() - interval '2 minutes' WHERE target->>'file' = 'KEY'",
  );
  await record("KEY");
  await expect.poll(async () => (await summaries()).filter((each) => each.includes("KEY"))).toHaveLength(2);
  await proxy.database.query(`
    INSERT INTO llm.audit_log (workspace_id, method, target, changed_fields)
    SELECT '', 'Configuration/Reload', jsonb_build_object('file', 'F' || n), '{}' FROM generate_series(1, 98) n`);
  await record("OTHER");
  await record("ANOTHER");
  const lines = await summaries();
  expect(lines.filter((each) => each.includes("OTHER"))).toEqual([]);
  expect(lines.filter((each) => each.startsWith("Configuration/Reload"))).toHaveLength(100);
  expect(await registry.metrics()).toContain('parley_audit_log_events_total{kind="reload"} 5');
});

test("pages through all entries without a gap or a repetition, also those of the same time", async () => {
  await proxy.database.query(`
    INSERT INTO llm.audit_log (workspace_id, method, target, changed_fields, changed_at)
    SELECT 'w' || n % 3, 'Configuration/Reload', jsonb_build_object('file', 'F' || n), '{}', now() - make_interval(secs => n / 4)
    FROM generate_series(1, 20) n`);
  const files: (string | undefined)[] = [];
  let pageToken = "";
  do {
    const page = await listAll({ pageSize: 3, pageToken });
    files.push(...page.entries.map(({ target }) => target.file));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  const listed = files.filter((file) => file?.startsWith("F"));
  expect(listed).toHaveLength(20);
  expect(new Set(listed).size).toBe(20);
});

test.each([
  ["a since that is no time", { since: "yesterday" }],
  ["a page size above 500", { pageSize: 501 }],
  ["another page token", { pageToken: "2026-11-30T00:00:00Z x" }],
])("refuses %s", async (_, fields) => {
  const error = await listAll(fields).catch((cause: unknown) => cause);
  expect(ConnectError.from(error).code).toBe(Code.InvalidArgument);
});
