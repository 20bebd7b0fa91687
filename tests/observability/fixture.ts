import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort, startRedis, startTcpProxy, type TcpProxy, type TestRedis } from "@parley/test-support";
import { postChat } from "../system/chat.ts";
import { createPlan, queryFirstRow } from "../system/database.ts";
import { type Prometheus, startPrometheus } from "../system/servers/prometheus.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { newClientAddress, TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";
import { ALERTS_FILE, createFastAlertRules } from "./sources.ts";

/** The tenants. Most are named after what happens to their chats. */
export type Tenants = Record<
  "main" | "blocked" | "full" | "near" | "nearUnpaid" | "failing" | "keyRefused" | "failover" | "disconnecting",
  Tenant
>;

export type Fixture = {
  system: System;
  redis: { kill(): Promise<void>; restart(): Promise<void> };
  /** Proxy between the services and PostgreSQL. */
  databaseProxy: TcpProxy;
  /** Proxy between conversation and quota. In a turn, only settlement uses it. */
  settleProxy: TcpProxy;
  prometheus: Prometheus;
  tenants: Tenants;
  stop(): Promise<void>;
};

const MAX_STREAMS_PER_CLIENT = 3;
/** The edge's rate limit for chats of one address. */
const MAX_CHATS_PER_MINUTE = 60;

export async function startFixture(postgresUrl: string): Promise<Fixture> {
  let redis: TestRedis = await startRedis();
  const redisPort = Number(new URL(redis.url).port);
  const postgres = new URL(postgresUrl);
  const databaseProxy = await startTcpProxy({ targetPort: Number(postgres.port) });
  postgres.port = String(databaseProxy.port);
  const quotaPort = await freePort();
  const settleProxy = await startTcpProxy({ targetPort: quotaPort });
  const system = await startSystem({
    edges: 2,
    redisUrl: redis.url,
    databaseServerUrl: postgres.href,
    llmConfig: (base_url) => {
      const provider = { base_url, api_key_env: "OPENAI_API_KEY", retries: { max_attempts: 2, base_delay_ms: 1 } };
      return {
        default_model: "openai:default",
        providers: {
          openai: provider,
          slow: provider,
          refusing: provider,
          flaky: { ...provider, breaker: { failures: 3, cooldown_ms: 1_000 } },
          broken: provider,
        },
        routes: { both: ["broken:status-400", "openai:default"] },
      };
    },
    env: {
      edge: {
        ...TRUST_FORWARDED_FOR,
        QUOTA_TARGET: `127.0.0.1:${quotaPort}`,
        MAX_STREAMS_PER_CLIENT: String(MAX_STREAMS_PER_CLIENT),
      },
      quota: { GRPC_PORT: String(quotaPort) },
      conversation: { QUOTA_TARGET: `127.0.0.1:${settleProxy.port}` },
    },
  });
  // Created before Prometheus starts, because llm-proxy measures the workspaces' cost at the first scrape and then every 5 minutes.
  const tenants = await createTenants(system);
  const services = [...system.edges, system.conversation, system.quota, system.llm];
  const prometheus = await startPrometheus({
    targets: services.map(({ name, opsPort }) => ({ service: name, opsPort })),
    rules: { "alerts.yaml": readFileSync(ALERTS_FILE, "utf8"), "fast.yaml": createFastAlertRules() },
  });
  return {
    system,
    redis: {
      kill: () => redis.kill(),
      async restart() {
        redis = await startRedis({ port: redisPort });
      },
    },
    databaseProxy,
    settleProxy,
    prometheus,
    tenants,
    async stop() {
      await prometheus.stop();
      await system.stop();
      await Promise.all([databaseProxy.close(), settleProxy.close(), redis.stop()]);
    },
  };
}

/** Creates the tenants. `full` has used all of its quota, `near` most of it, and `nearUnpaid` most of the day's bound on unpaid replies. `near` has a cost. */
async function createTenants(system: System): Promise<Tenants> {
  const { admin, database } = system;
  await createPlan(database, "large", 1_000_000);
  await createPlan(database, "ten", 10);
  const createLargeTenant = (model: string) => createTenant(admin, { plan: "large", model });
  const tenants: Tenants = {
    main: await createLargeTenant("openai:tokens-20-every-10"),
    blocked: await createLargeTenant("openai:default"),
    failing: await createLargeTenant("broken:status-400"),
    keyRefused: await createLargeTenant("broken:status-401"),
    failover: await createLargeTenant("route:both"),
    disconnecting: await createLargeTenant("openai:tokens-100-every-50"),
    full: await createTenant(admin, { plan: "ten" }),
    near: await createTenant(admin, { plan: "ten" }),
    nearUnpaid: await createTenant(admin, { plan: "ten" }),
  };
  const { workspaceId, botSlug } = tenants.blocked;
  await admin.moderation.addPattern({ workspaceId, botSlug, pattern: "hello", fallback: "No." });
  await addUsage(system, tenants.full, 10);
  await addUsage(system, tenants.near, 8);
  await addUnpaidReplies(system, tenants.nearUnpaid, 45);
  await addCost(system, tenants.near, 1.5);
  return tenants;
}

/** Adds `used` replies to the current month's usage and to the usage ledger. */
async function addUsage({ database }: System, { workspaceId }: Tenant, used: number): Promise<void> {
  await queryFirstRow(
    database,
    `WITH turns AS (SELECT gen_random_uuid() AS turn_id, date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month FROM generate_series(1, $2)),
     ledger AS (INSERT INTO quota.ledger (workspace_id, month, turn_id) SELECT $1, month, turn_id FROM turns)
     INSERT INTO quota.usage (workspace_id, month, used) SELECT $1, month, count(*) FROM turns GROUP BY month`,
    [workspaceId, used],
  );
}

/** Adds a generation with a cost to the call log. */
async function addCost({ database }: System, { workspaceId }: Tenant, cost: number): Promise<void> {
  await queryFirstRow(
    database,
    `INSERT INTO llm.calls
     SELECT $1, gen_random_uuid(), gen_random_uuid(), 'p', 'p:m', '', 1, 1, false, 0, 0, 0, 1, 0, 'complete', '', $2, now()`,
    [workspaceId, cost],
  );
}

/** Adds today's unpaid replies to the turns and to the usage, which the reconciliation compares. */
async function addUnpaidReplies({ database }: System, { workspaceId }: Tenant, unpaid: number): Promise<void> {
  await queryFirstRow(
    database,
    `WITH days AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day),
     turns AS (
       INSERT INTO conversation.turns (
         workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, unpaid_day, asked_model, model, opened_at, closed_at)
       SELECT $1, gen_random_uuid(), gen_random_uuid(), n, gen_random_uuid(), gen_random_uuid(), 'cancelled', day, '', '', now(), now()
       FROM days, generate_series(1, $2::integer) n)
     INSERT INTO quota.usage (workspace_id, month, unpaid_day, unpaid) SELECT $1, date_trunc('month', day)::date, day, $2 FROM days`,
    [workspaceId, unpaid],
  );
}

/** Runs visitors of every tenant except `near` and `nearUnpaid` until `stop` is called. With "succeeding", runs only the visitors of `main`. */
export function startVisitors(
  { system, tenants }: Fixture,
  kind: "every" | "succeeding" = "every",
): { stop(): Promise<void> } {
  const stopped = new AbortController();
  const repeatUntilStopped = async (work: () => Promise<unknown>, pauseMs: number) => {
    while (!stopped.signal.aborted) {
      await work();
      await sleep(pauseMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
  };
  const visitBothEdges = (tenant: Tenant) =>
    [0, 1].map((edge) => repeatUntilStopped(() => visit(system.url(edge), tenant), 100));
  // Two visitors for each edge.
  const succeeding = [...visitBothEdges(tenants.main), ...visitBothEdges(tenants.main)];
  const startOtherVisitors = () => [
    ...[tenants.blocked, tenants.failing, tenants.keyRefused, tenants.failover, tenants.full].map((tenant) =>
      repeatUntilStopped(() => visit(system.url(), tenant), 200),
    ),
    repeatUntilStopped(() => disconnectEarly(system.url(), tenants.disconnecting), 300),
    repeatUntilStopped(() => sendRefusedRequests(system, tenants.main), 500),
    repeatUntilStopped(() => exportMissingSession(system, tenants.main), 500),
  ];
  const running = kind === "every" ? [...succeeding, ...startOtherVisitors()] : succeeding;
  return {
    async stop() {
      stopped.abort();
      await Promise.all(running);
    },
  };
}

/** Sends a message and disconnects during the reply. */
async function disconnectEarly(url: string, tenant: Tenant): Promise<void> {
  const abort = new AbortController();
  try {
    const headers = { "x-forwarded-for": newClientAddress() };
    const response = await postChat(url, tenant, {}, { headers, signal: abort.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();
  } catch {
    // An error would end this visitor's loop in `startVisitors`.
  } finally {
    abort.abort();
  }
}

/**
 * Sends requests that the edge refuses: wrong origin, invalid JSON, unknown route, and too many requests and streams from one address. Also
 * sends a valid request for the widget's configuration.
 */
async function sendRefusedRequests(system: System, tenant: Tenant): Promise<void> {
  const headers = { "x-forwarded-for": newClientAddress() };
  const foreign = { ...headers, origin: "https://elsewhere.example" };
  const drain = async (response: Promise<Response>) =>
    void (await response.then((response) => response.text()).catch(() => ""));
  await Promise.all([
    ...Array.from({ length: MAX_CHATS_PER_MINUTE + 1 }, () =>
      drain(postChat(system.url(), tenant, {}, { headers: foreign })),
    ),
    drain(fetch(`${system.url()}/api/chat/`, { method: "POST", body: "{", headers })),
    drain(fetch(`${system.url()}/no/such/page`, { headers })),
    drain(
      fetch(`${system.url()}/api/widget/config/?public_key=${tenant.publicKey}`, {
        headers: { origin: tenant.origin },
      }),
    ),
  ]);
  const oneAddress = { "x-forwarded-for": newClientAddress() };
  await Promise.all(
    Array.from({ length: MAX_STREAMS_PER_CLIENT + 1 }, () =>
      drain(postChat(system.url(1), tenant, {}, { headers: oneAddress })),
    ),
  );
}

/** Requests the export of a session that does not exist, with a valid token. */
async function exportMissingSession(system: System, { workspaceId }: Tenant): Promise<void> {
  const token = await system.sso.token({ workspaceId });
  const url = `${system.url()}/api/conversations/${randomUUID()}/export.json`;
  await fetch(url, { headers: { authorization: `Bearer ${token}` } })
    .then((response) => response.text())
    .catch(() => "");
}
