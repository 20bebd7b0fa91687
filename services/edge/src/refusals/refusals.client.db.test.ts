import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import type { RefusalRecord } from "./refusal-recorder.ts";
import { createRefusalAdmin } from "./refusals.admin.ts";
import { createRefusalStore } from "./refusals.client.ts";

const record = (requestId: string, workspaceId = "w"): RefusalRecord => ({
  refusedAtMs: Date.UTC(2026, 10, 30),
  requestId,
  code: "rate_limited",
  status: 429,
  reason: "chat",
  route: "/api/chat/",
  workspaceId,
  keySuffix: "WXYZ",
  client: "0a1b2c3d4e5f",
});

describeWith("redis", "the store of refusals", () => {
  let server: TestRedis;
  let redis: Redis;
  beforeAll(async () => {
    server = await startRedis();
    redis = new Redis(server.url);
  });
  afterAll(async () => {
    redis.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    await redis.flushall();
  });

  const idsOf = async (workspaceId: string, sinceMs = 0) =>
    (await createRefusalStore(() => redis).list(workspaceId, sinceMs)).map(({ requestId }) => requestId);

  test("lists the refusals of one workspace, and those without a workspace, newest first", async () => {
    const store = createRefusalStore(() => redis);
    for (const [id, workspaceId] of [["1"], ["2", "v"], ["3", ""], ["4"]] as const) store.add(record(id, workspaceId));
    await expect.poll(() => idsOf("w")).toEqual(["4", "1"]);
    expect(await idsOf("v")).toEqual(["2"]);
    expect(await store.list("", 0)).toEqual([record("3", "")]);
    expect(await idsOf("w", Date.now() + 60_000)).toEqual([]);
    expect(await idsOf("w", Date.now() - 60_000)).toEqual(["4", "1"]);
  });

  test("keeps the last 500 to 600 refusals of a workspace, for a day", async () => {
    const store = createRefusalStore(() => redis);
    for (let sent = 1; sent <= 1_000; sent++) store.add(record(String(sent)));
    await expect.poll(async () => (await idsOf("w"))[0]).toBe("1000");
    const count = await redis.xlen("parley:refusals:w");
    expect(count).toBeGreaterThanOrEqual(500);
    expect(count).toBeLessThanOrEqual(600);
    const ttlSeconds = await redis.ttl("parley:refusals:w");
    expect(ttlSeconds).toBeGreaterThan(86_300);
    expect(ttlSeconds).toBeLessThanOrEqual(86_400);
  });

  test("drops a refusal while Redis is not connected, and does not queue it", async () => {
    const late = new Redis(server.url, { lazyConnect: true });
    onTestFinished(() => late.disconnect());
    const store = createRefusalStore(() => late);
    store.add(record("lost"));
    await late.connect();
    store.add(record("stored"));
    await expect.poll(() => idsOf("w")).toEqual(["stored"]);
  });

  test("the admin service lists one request's refusal, and refuses a malformed time", async () => {
    const store = createRefusalStore(() => redis);
    for (const id of ["1", "2"]) store.add(record(id));
    await expect.poll(() => idsOf("w")).toHaveLength(2);
    const admin = createRefusalAdmin(store);
    const list = async (fields: object) =>
      admin.listRefusals({ since: "", requestId: "", ...fields } as never, {} as never);
    const { workspaceId: _, refusedAtMs: __, ...fields } = record("1");
    expect(await list({ workspaceId: "w", requestId: "1" })).toEqual({
      refusals: [{ ...fields, refusedAt: "2026-11-30T00:00:00.000Z" }],
    });
    await expect(list({ workspaceId: "w", since: "yesterday" })).rejects.toMatchObject({ code: "invalid_argument" });
  });

  test("the admin service reports that Redis does not answer, or that there is none", async () => {
    const closed = new Redis(server.url, { lazyConnect: true, enableOfflineQueue: false });
    onTestFinished(() => closed.disconnect());
    const list = async (admin: ReturnType<typeof createRefusalAdmin>) =>
      admin.listRefusals({ workspaceId: "w", since: "", requestId: "" } as never, {} as never);
    await expect(list(createRefusalAdmin(createRefusalStore(() => closed)))).rejects.toMatchObject({
      code: "unavailable",
    });
    await expect(list(createRefusalAdmin(undefined))).rejects.toMatchObject({ code: "refusals_not_stored" });
  });
});
