import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { ListEventsResponseSchema, type UsageEvent, UsageEventSchema } from "@parley/rpc/quota";
import type { Database } from "@parley/service-kit";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addEndpoint } from "../testing/webhooks.ts";
import { createUsageEventsTask, forgetOldUsageEvents } from "./index.ts";
import { readUsageEventPosition } from "./usage-events.store.ts";

let db: TestDatabase;
let database: Database;
beforeAll(async () => {
  db = await createTestDatabase();
  database = db.database;
});
afterAll(() => db.drop());
beforeEach(() =>
  db.admin.query(
    "TRUNCATE conversation.events, conversation.usage_events, conversation.webhook_endpoints, conversation.task_leases",
  ),
);

const OCCURRED_AT = "2026-10-31T23:59:59.999Z";

function usageEvent(workspaceId: string, fields: Partial<UsageEvent> = {}): UsageEvent {
  return create(UsageEventSchema, {
    id: randomUUID(),
    workspaceId,
    type: "usage.threshold",
    occurredAt: OCCURRED_AT,
    month: "2026-10",
    threshold: 80,
    generation: 1,
    used: 80,
    cap: 100,
    ...fields,
  });
}

/** A quota service with a list of events, whose positions count from 1. Like the real one, it starts again if the position was never assigned. */
function createQuota() {
  const quota = {
    listed: [] as UsageEvent[],
    /** The positions that were asked for. */
    asked: [] as number[],
    async listEvents({ after = 0n, pageSize = 0 }: { after?: bigint; pageSize?: number }) {
      quota.asked.push(Number(after));
      const start = Number(after) > quota.listed.length ? 0 : Number(after);
      const events = quota.listed.slice(start, start + pageSize);
      return create(ListEventsResponseSchema, {
        events,
        next: events.length === 0 ? after : BigInt(start + events.length),
      });
    },
  };
  return quota;
}

const runTask = (quota: ReturnType<typeof createQuota>) =>
  createUsageEventsTask({ database, quota: quota as never })(new AbortController().signal);
const listEvents = async () =>
  (
    await db.admin.query(
      `SELECT workspace_id AS "workspaceId", event_id AS id, type, occurred_at AS "occurredAt", session_id AS "sessionId", data
       FROM conversation.events ORDER BY recorded_at, event_id`,
    )
  ).rows;
const releaseLease = () => db.admin.query("UPDATE conversation.task_leases SET due_at = now()");

test("records each event once with its id and time, for workspaces with a webhook that wants it", async () => {
  const quota = createQuota();
  const [wants, wantsOthers, none] = [randomUUID(), randomUUID(), randomUUID()];
  await addEndpoint(database, wants, { types: ["usage.threshold", "usage.month_closed"] });
  await addEndpoint(database, wantsOthers, { types: ["message.rated"] });
  const reached = usageEvent(wants);
  const closed = usageEvent(wants, { type: "usage.month_closed", threshold: 0, generation: 0, used: 91 });
  quota.listed.push(
    reached,
    usageEvent(wantsOthers),
    usageEvent(none),
    closed,
    usageEvent(wants, { type: "usage.resolved" }),
  );
  await runTask(quota);
  const event = { workspaceId: wants, occurredAt: new Date(OCCURRED_AT), sessionId: null };
  const { month, threshold, generation, used, cap } = reached;
  expect(await listEvents()).toEqual(
    [
      { ...event, id: reached.id, type: "usage.threshold", data: { month, threshold, generation, used, cap } },
      { ...event, id: closed.id, type: "usage.month_closed", data: { month, used: 91, cap } },
    ].sort((a, b) => (a.id < b.id ? -1 : 1)),
  );
  expect(await readUsageEventPosition(database)).toBe(5n);

  await releaseLease();
  await runTask(quota);
  expect(quota.asked).toEqual([0, 5, 5]);
  expect(await listEvents()).toHaveLength(2);
});

test("reads all pages, and records no event again if quota's database was restored to an earlier time", async () => {
  const quota = createQuota();
  const workspaceId = randomUUID();
  await addEndpoint(database, workspaceId);
  quota.listed = Array.from({ length: 1_200 }, () => usageEvent(workspaceId));
  await runTask(quota);
  expect(await listEvents()).toHaveLength(1_200);
  await db.admin.query("DELETE FROM conversation.events");

  const added = usageEvent(workspaceId);
  quota.listed = [...quota.listed.slice(0, 700), added];
  await releaseLease();
  await runTask(quota);
  expect(await listEvents()).toMatchObject([{ id: added.id }]);
  expect(await readUsageEventPosition(database)).toBe(701n);
});

test("records nothing if the statement fails, and everything at the next run", async () => {
  const quota = createQuota();
  const workspaceId = randomUUID();
  await addEndpoint(database, workspaceId);
  quota.listed.push(usageEvent(workspaceId), usageEvent(workspaceId, { occurredAt: "never" }));
  await expect(runTask(quota)).rejects.toThrow(/timestamp/);
  expect(await listEvents()).toEqual([]);
  expect(await readUsageEventPosition(database)).toBe(0n);
  quota.listed[1] = usageEvent(workspaceId);
  await releaseLease();
  await runTask(quota);
  expect(await listEvents()).toHaveLength(2);
});

test("replicas that read the same events record each once", async () => {
  const quota = createQuota();
  const workspaceId = randomUUID();
  await addEndpoint(database, workspaceId);
  quota.listed = Array.from({ length: 400 }, () => usageEvent(workspaceId));
  const { listEvents: list } = quota;
  // The second replica takes the lease while the first one waits for quota.
  quota.listEvents = async (request) => {
    quota.listEvents = list;
    await releaseLease();
    await runTask(quota);
    return create(ListEventsResponseSchema, { events: quota.listed.slice(), next: request.after ?? 0n });
  };
  await runTask(quota);
  expect(await listEvents()).toHaveLength(400);
});

test("forgets the ids of old events", async () => {
  const quota = createQuota();
  quota.listed.push(usageEvent(randomUUID()), usageEvent(randomUUID()));
  await runTask(quota);
  await db.admin.query(
    "UPDATE conversation.usage_events SET recorded_at = now() - interval '101 days' WHERE event_id = $1",
    [quota.listed[0]?.id],
  );
  await forgetOldUsageEvents(database, new AbortController().signal);
  expect((await db.admin.query("SELECT event_id AS id FROM conversation.usage_events")).rows).toEqual([
    { id: quota.listed[1]?.id },
  ]);
});
