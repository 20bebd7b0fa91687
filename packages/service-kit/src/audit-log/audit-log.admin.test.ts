import { Counter } from "prom-client";
import { expect, test, vi } from "vitest";
import { Lifecycle } from "../process/lifecycle.ts";
import { createLogger, type Logger } from "../process/logger.ts";
import { AWAY, routeByWorkspace } from "../testing/shards.ts";
import { openAuditLog } from "./audit-log.admin.ts";

test("deletes the expired entries of each shard, and names the shard of a failed run", async () => {
  const silent = createLogger("test", "silent");
  const lifecycle = new Lifecycle(silent);
  const warn = vi.fn();
  const query = vi.fn(async () => ({ rows: [] }));
  const counter = new Counter({ name: "entries", help: "Entries.", labelNames: ["kind"], registers: [] });
  const sharded = routeByWorkspace([{ ...AWAY, query } as unknown as typeof AWAY, AWAY], () => 0);
  openAuditLog(sharded, "quota", counter, { ...silent, warn } as unknown as Logger, lifecycle);
  await lifecycle.close();
  expect(query.mock.calls).toEqual([["SELECT quota.delete_expired_audit_log_entries()"]]);
  expect(warn.mock.calls.map(([{ task }]) => task)).toEqual(["delete expired audit log entries, shard 1"]);
});
