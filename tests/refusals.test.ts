import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { postChat, readChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "./system/cli.ts";
import { createPlan } from "./system/database.ts";
import { readMetric } from "./system/metrics.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";
import { newClientAddress, TRUST_FORWARDED_FOR } from "./system/visitors.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 120_000 });

const UNKNOWN_KEY = `svc_pk_${"0123456789abcdef".repeat(2)}`;
const MAX_STREAMS_PER_CLIENT = 11;
/** A client holds at most a tenth of the 100 messages of the plan free. */
const MAX_HELD = 10;

type Row = Record<"refused_at" | "request_id" | "code" | "reason" | "route" | "key_suffix" | "client", string> & {
  status: number;
};
/** A refused request, and what operators should find. */
type Refused = { response: Response; address: string; tenant: Tenant; row: Partial<Row>; isUnknown?: boolean };

describeWith("redis", "a refused request", () => {
  let redis: TestRedis;
  let system: System;
  let env: Record<string, string>;
  const leaving = new AbortController();

  beforeAll(async () => {
    redis = await startRedis();
    system = await startSystem({
      edges: 2,
      redisUrl: redis.url,
      env: { edge: { ...TRUST_FORWARDED_FOR, MAX_STREAMS_PER_CLIENT: String(MAX_STREAMS_PER_CLIENT) } },
    });
    env = { ...cliEnv(system), PARLEY_EDGE_URL: `http://127.0.0.1:${system.edges[1]?.opsPort}` };
    await createPlan(system.database, "one", 1);
  });
  afterAll(async () => {
    leaving.abort();
    await system?.stop();
    await redis?.stop();
  });

  const edge = () => {
    const [first] = system.edges;
    if (first === undefined) throw new Error("no edge");
    return first;
  };
  const send = (tenant: Tenant, address: string, fields: object = {}, headers: Record<string, string> = {}) =>
    postChat(system.url(), tenant, { ...fields }, { headers: { "x-forwarded-for": address, ...headers } });
  const rate = (tenant: Tenant, address: string) =>
    fetch(`${system.url()}/api/chat/rating/`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: tenant.origin, "x-forwarded-for": address },
      body: JSON.stringify({ public_key: tenant.publicKey, session_id: randomUUID(), message_id: 1, rating: "up" }),
    });
  /** Opens streams that last until the end of the tests. */
  async function holdStreams(tenant: Tenant, address: string, count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, () =>
        postChat(system.url(), tenant, {}, { headers: { "x-forwarded-for": address }, signal: leaving.signal }),
      ),
    );
  }
  const listRefusals = (...args: string[]) => runCliJson<Row[]>(["refusals", ...args], env);
  const logLineOf = (requestId: string) =>
    edge()
      .outputs()
      .split("\n")
      .filter((line) => line.includes(requestId) && line.includes('"message":"request refused"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  const cases: Record<string, () => Promise<Refused>> = {
    async "of an unknown key"() {
      const [tenant, address] = [await createTenant(system.admin), newClientAddress()];
      const response = await send(tenant, address, { public_key: UNKNOWN_KEY });
      const row = { code: "invalid_api_key", status: 401, key_suffix: "cdef" };
      return { response, address, tenant, row, isUnknown: true };
    },
    async "of a revoked key"() {
      const [tenant, address] = [await createTenant(system.admin), newClientAddress()];
      await readChat(await send(tenant, address));
      await system.admin.keys.revokeKey({ publicKey: tenant.publicKey, workspaceId: tenant.workspaceId });
      let response = await send(tenant, address);
      while (response.status === 200) {
        await response.text();
        await sleep(500);
        response = await send(tenant, address);
      }
      return { response, address, tenant, row: { code: "invalid_api_key", status: 401 } };
    },
    async "of a page that the key does not allow"() {
      const [tenant, address] = [await createTenant(system.admin), newClientAddress()];
      const response = await send(tenant, address, {}, { origin: "https://elsewhere.example" });
      return { response, address, tenant, row: { code: "origin_not_allowed", status: 403 } };
    },
    async "for an unknown message"() {
      const [tenant, address] = [await createTenant(system.admin), newClientAddress()];
      const row = { code: "message_not_found", status: 404, route: "/api/chat/rating/" };
      return { response: await rate(tenant, address), address, tenant, row };
    },
    async "above a rate limit"() {
      const [tenant, address] = [await createTenant(system.admin), newClientAddress()];
      let response = await rate(tenant, address);
      while (response.status === 404) response = await rate(tenant, address);
      const row = { code: "rate_limited", status: 429, reason: "rating", route: "/api/chat/rating/" };
      return { response, address, tenant, row };
    },
    async "of a client with too many streams"() {
      const [tenant, address] = [await createTenant(system.admin, { model: "openai:hang" }), newClientAddress()];
      await holdStreams(tenant, address, MAX_STREAMS_PER_CLIENT);
      const row = { code: "overloaded", status: 503, reason: "client" };
      return { response: await send(tenant, address), address, tenant, row };
    },
    async "above the monthly quota"() {
      const [tenant, address] = [await createTenant(system.admin, { plan: "one" }), newClientAddress()];
      await readChat(await send(tenant, address));
      return { response: await send(tenant, address), address, tenant, row: { code: "quota_exceeded", status: 200 } };
    },
    async "of a client with too many running replies"() {
      const options = { plan: "free", model: "openai:hang" };
      const [tenant, address] = [await createTenant(system.admin, options), newClientAddress()];
      await holdStreams(tenant, address, MAX_HELD);
      const { workspaceId } = tenant;
      const countHeld = async () => (await system.admin.workspaces.showUsage({ workspaceId })).usage?.held;
      await expect.poll(countHeld, { timeout: 10_000 }).toBe(MAX_HELD);
      return { response: await send(tenant, address), address, tenant, row: { code: "busy", status: 200 } };
    },
    async "with a blocked message"() {
      const [tenant, address] = [await createTenant(system.admin), newClientAddress()];
      const { workspaceId, botSlug } = tenant;
      await system.admin.moderation.addPattern({ workspaceId, botSlug, pattern: "weather", fallback: "No." });
      const response = await send(tenant, address, { message: "The weather?" }, { "idempotency-key": randomUUID() });
      return { response, address, tenant, row: { code: "blocked", status: 200 } };
    },
  };

  test.each(Object.entries(cases))(
    "%s has a header, a log line, a count and a row of parley refusals",
    async (_, refuse) => {
      const { response, address, tenant, row, isUnknown } = await refuse();
      await response.text();
      const requestId = response.headers.get("parley-request-id") ?? "";
      expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
      const expected = {
        request_id: requestId,
        reason: "",
        route: "/api/chat/",
        key_suffix: tenant.publicKey.slice(-4),
        client: expect.stringMatching(/^[0-9a-f]{12}$/),
        ...row,
      };

      await expect.poll(() => logLineOf(requestId), { timeout: 10_000 }).toHaveLength(1);
      const [line = {}] = logLineOf(requestId);
      expect(line).toMatchObject({ ...expected, level: "info", workspace_id: isUnknown ? "" : tenant.workspaceId });
      expect(JSON.stringify(line)).not.toContain(address);
      expect(JSON.stringify(line)).not.toMatch(new RegExp(`${tenant.publicKey}|${UNKNOWN_KEY}`));

      const isInStream = response.status === 200;
      const label = row.code === "blocked" ? "finish" : "code";
      const counted = isInStream
        ? readMetric(edge(), "parley_turns_total", { [label]: String(row.code) })
        : readMetric(edge(), "parley_requests_refused_total", { code: String(row.code), route: expected.route });
      expect(await counted).toBeGreaterThanOrEqual(1);

      const rows = await listRefusals(...(isUnknown ? ["--unknown"] : ["--workspace", tenant.workspaceId]));
      const found = rows.filter(({ request_id }) => request_id === requestId);
      expect(found).toEqual([{ ...expected, refused_at: expect.stringMatching(/Z$/), client: line.client }]);

      const explained = ["explain", requestId, "--workspace", tenant.workspaceId];
      if (isInStream) {
        const { turn_id, message_id } = await runCliJson<{ turn_id: string; message_id: number }>(explained, env);
        expect(turn_id).toBe(requestId);
        const byMessage = ["explain", String(message_id), "--workspace", tenant.workspaceId];
        expect(await runCliJson(byMessage, env)).toMatchObject({ turn_id: requestId });
      } else expect(await runCliJson(explained, env)).toEqual(found[0]);
    },
  );

  test("parley refusals shows a table, leaves out older refusals, and has none of another workspace", async () => {
    const tenant = await createTenant(system.admin);
    const response = await send(tenant, newClientAddress(), {}, { origin: "https://elsewhere.example" });
    const requestId = response.headers.get("parley-request-id") ?? "";
    await expect.poll(() => listRefusals("--workspace", tenant.workspaceId)).toHaveLength(1);
    const { stdout } = await runCliInProcess(["refusals", "--workspace", tenant.workspaceId], env);
    expect(stdout).toMatch(/^TIME +CODE +STATUS +REASON +REQUEST +KEY +CLIENT\n/);
    expect(stdout).toMatch(new RegExp(`origin_not_allowed +403 +– +${requestId} +…${tenant.publicKey.slice(-4)} `));
    expect(await listRefusals("--workspace", tenant.workspaceId, "--since", "2100-01-01")).toEqual([]);
    const other = await createTenant(system.admin);
    expect(await listRefusals("--workspace", other.workspaceId)).toEqual([]);
    const foreign = await runCliInProcess(["explain", requestId, "--workspace", other.workspaceId], env);
    expect([foreign.code, foreign.stdout]).toEqual([1, ""]);
    expect(foreign.stderr).toContain("no such turn");
  });

  test("the edge lists refusals only for the internal token", async () => {
    const tenant = await createTenant(system.admin);
    const list = (more: Record<string, string>) => runCliInProcess(["refusals", "--unknown"], { ...env, ...more });
    expect((await list({ INTERNAL_TOKEN: "" })).stderr).toContain("INTERNAL_TOKEN is not set");
    expect((await list({ INTERNAL_TOKEN: "other" })).stderr).toContain(
      "refused the internal token: set INTERNAL_TOKEN",
    );
    const member = await system.sso.token({ workspaceId: tenant.workspaceId, role: "owner" });
    const url = `${env.PARLEY_EDGE_URL}/parley.edge.v1.RefusalAdminService/ListRefusals`;
    for (const authorization of ["", "Bearer wrong", `Bearer ${member}`, `Bearer ${env.ADMIN_TOKEN}`]) {
      const headers = { "content-type": "application/json", authorization };
      const body = JSON.stringify({ workspaceId: tenant.workspaceId });
      expect((await fetch(url, { method: "POST", headers, body })).status).toBe(401);
    }
  });

  test("without Redis, visitors are served and refused as before, and parley refusals reports the reason", async () => {
    const tenant = await createTenant(system.admin);
    await redis.stop();
    const address = newClientAddress();
    expect((await readChat(await send(tenant, address))).done).toMatchObject({ finish_reason: "stop" });
    const response = await send(tenant, address, {}, { origin: "https://elsewhere.example" });
    expect(response.status).toBe(403);
    const requestId = response.headers.get("parley-request-id") ?? "";
    await expect.poll(() => logLineOf(requestId), { timeout: 10_000 }).toHaveLength(1);
    const { code, stderr } = await runCliInProcess(["refusals", "--workspace", tenant.workspaceId], env);
    expect([code, stderr]).toEqual([1, expect.stringContaining("Redis does not answer")]);
    const explained = await runCliInProcess(["explain", requestId, "--workspace", tenant.workspaceId], env);
    expect(explained.stderr).toContain("no such turn, and refused requests cannot be read: Redis does not answer");
  });
});
